"""Limits at every instant: the history is replayed, and after every change all that is in use is counted."""

from collections import Counter

from together.facts import Change, Facts, Key
from together.workload import POOLS

AT_WORK = ("queued", "running")


def check(facts: Facts) -> list[str]:
    use = Use()
    found = []
    for change in facts.history:
        if use.apply(change):
            found += [f"{change}: {excess}" for excess in _excesses(facts, use, change)]
    return found


class Use:
    """What is at work."""

    def __init__(self) -> None:
        self.at_work: dict[Key, Change] = {}
        self.running_runs: set[tuple[str, str]] = set()
        self.slots: Counter[str] = Counter()
        self.of_run: Counter[tuple[str, str]] = Counter()
        self.of_task: Counter[tuple[str, str]] = Counter()
        self.of_task_in_run: Counter[tuple[str, str, str]] = Counter()
        self.of_job: Counter[int | None] = Counter()
        self.runs_of_dag: Counter[str] = Counter()

    def apply(self, change: Change) -> bool:
        """Whether something has begun that counts."""
        if change.table == "run":
            return self._apply_run(change)
        before = self.at_work.pop(change.key, None)
        if before is not None:
            self._count(before, -1)
        if change.what == "delete" or change.new not in AT_WORK:
            return False
        if before is not None:
            # Whose slot it is. A scheduler that looks after what a dead one had does not run it.
            change = change._replace(job=before.job)
        self.at_work[change.key] = change
        self._count(change, 1)
        return before is None

    def _apply_run(self, change: Change) -> bool:
        run = (change.dag_id, change.run_id)
        runs = change.what != "delete" and change.new == "running"
        if runs == (run in self.running_runs):
            return False
        self.running_runs ^= {run}
        self.runs_of_dag[change.dag_id] += 1 if runs else -1
        return runs

    def _count(self, change: Change, sign: int) -> None:
        self.slots[change.pool] += sign * change.pool_slots
        self.of_run[change.dag_id, change.run_id] += sign
        self.of_task[change.dag_id, change.task_id] += sign
        self.of_task_in_run[change.dag_id, change.run_id, change.task_id] += sign
        self.of_job[change.job] += sign


def _excesses(facts: Facts, use: Use, change: Change) -> list[str]:
    dag = facts.dag(change.dag_id)
    if dag is None:
        return [f"there is no DAG {change.dag_id}"]
    if change.table == "run":
        counts = [("max_active_runs", use.runs_of_dag[dag.dag_id], dag.max_active_runs)]
        holders = [run_id for dag_id, run_id in use.running_runs if dag_id == dag.dag_id]
    else:
        task = dag.tasks[change.task_id]
        run = (change.dag_id, change.run_id)
        counts = [
            (f"slots of the pool {change.pool}", use.slots[change.pool], POOLS[change.pool]),
            ("max_active_tasks", use.of_run[run], dag.max_active_tasks),
            (
                "max_active_tis_per_dag",
                use.of_task[change.dag_id, change.task_id],
                task.max_active_tis_per_dag,
            ),
            (
                "max_active_tis_per_dagrun",
                use.of_task_in_run[(*run, change.task_id)],
                task.max_active_tis_per_dagrun,
            ),
            (f"parallelism of job {change.job}", use.of_job[change.job], facts.parallelism),
        ]
        holders = [key for key, held in use.at_work.items() if held.pool == change.pool]
    return [
        f"{name} exceeded: {count} of {limit}; at work: {', '.join(map(str, holders[:12]))}"
        for name, count, limit in counts
        if limit is not None and count > limit
    ]
