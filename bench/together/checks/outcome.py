"""Nothing is lost: every run was made, started and ended once, and each of its tasks has done its work."""

from collections import Counter, defaultdict

from together.facts import Facts, Key
from together.workload import Dag

DONE = ("success", "failed")


def check(facts: Facts) -> list[str]:
    found = []
    runs: dict[str, list[str]] = defaultdict(list)
    for (dag_id, run_id), state in facts.runs.items():
        runs[dag_id].append(run_id)
        if state != "success":
            found.append(f"run {run_id} of {dag_id} is {state}")
    for dag in facts.released_dags():
        found += _dag(facts, dag, runs[dag.dag_id])
    return found + _turns_of_runs(facts) + _past_tries(facts) + _after_the_end(facts)


def _dag(facts: Facts, dag: Dag, run_ids: list[str]) -> list[str]:
    found = []
    expected = dag.runs if dag.asset is None else max(dag.runs, len(run_ids))
    if len(run_ids) != expected:
        found.append(f"{dag.dag_id} has {len(run_ids)} runs of {expected}")
    ended = {
        (note.key, note.try_number)
        for note in facts.notes
        if note.key.dag_id == dag.dag_id and note.what == "end"
    }
    for run_id in run_ids:
        for task_id, task in dag.tasks.items():
            copies = range(task.copies) if task.kind == "mapped" else [-1]
            for map_index in copies:
                key = Key(dag.dag_id, run_id, task_id, map_index)
                state, number = facts.instances.get(key, ("not there", 0))
                if state != "success":
                    found.append(f"{key} is {state}, after {number} tries")
                elif task.is_noted and (key, number) not in ended:
                    found.append(
                        f"{key}, try {number} is said to have succeeded, and has not come to its end"
                    )
    present = sum(1 for key in facts.instances if key.dag_id == dag.dag_id)
    if present != len(run_ids) * dag.instances:
        found.append(f"{dag.dag_id} has {present} task instances of {len(run_ids) * dag.instances}")
    return found


def _turns_of_runs(facts: Facts) -> list[str]:
    """How often each run became what."""
    turns = Counter(
        (change.dag_id, change.run_id, change.new)
        for change in facts.history
        if change.table == "run" and change.new != change.old
    )
    return [
        f"run {run_id} of {dag_id} became {state} {turns[dag_id, run_id, state]} times"
        for dag_id, run_id in facts.runs
        for state in ("running", "success")
        if turns[dag_id, run_id, state] != 1
    ]


def _past_tries(facts: Facts) -> list[str]:
    """A try that ran and is over has its row."""
    found = []
    for change in facts.history:
        if change.table != "task" or change.new != "running" or change.old == "running":
            continue
        _, number = facts.instances.get(change.key, (None, 0))
        if change.try_number < number and (change.key, change.try_number) not in facts.past_tries:
            found.append(f"{change.key}, try {change.try_number} ran, and there is no history of it")
    return found


def _after_the_end(facts: Facts) -> list[str]:
    found = []
    over: set[tuple[str, str]] = set()
    for change in facts.history:
        run = (change.dag_id, change.run_id)
        if change.table == "run":
            over = over | {run} if change.new in DONE else over - {run}
        elif run in over and change.old != change.new:
            found.append(f"{change}: its run is over")
    return found
