"""Nothing is stuck: whatever could move on does so within a minute.

A task instance could move on if it is at work, if it waits for another try, if it has not begun and all
before it is done, or if it is scheduled and every limit leaves room. A run could if there is room for it, and
so could a DAG with fewer runs than it will have.

Nothing of a run has to move on while a row of it is bad, nor of its DAG, and no DAG gets a run while its
timetable hangs, nor while that is left alone afterwards: that time does not count.
"""

from collections import defaultdict

from together.checks import excuses
from together.checks.limits import AT_WORK, Use
from together.facts import Change, Facts, Key
from together.workload import POOLS

LONGEST = 60.0
FINISHED = ("success", "failed", "skipped", "upstream_failed", "removed")


def check(facts: Facts) -> list[str]:
    return [
        f"{what} was {why} for {seconds:.1f} s, until {until:.1f} s before the end"
        for seconds, what, why, until in waits(facts)
        if seconds > LONGEST
    ]


def worst(facts: Facts) -> dict[str, float]:
    """The longest wait of each kind, in seconds."""
    longest: dict[str, float] = {}
    for seconds, _, why, _ in waits(facts):
        longest[why] = max(seconds, longest.get(why, 0.0))
    return longest


def waits(facts: Facts) -> list[tuple[float, str, str, float]]:
    """How long each thing could have moved on and did not: seconds, what, why, how long before the end."""
    replay = Replay(facts)
    for change in facts.history:
        replay.apply(change)
    replay.close()
    return replay.waits


class Replay:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.dags = {dag.dag_id: dag for dag in facts.dags}
        self.excuses = excuses.spans(facts)
        self.use = Use()
        self.instances: dict[Key, Change] = {}
        self.of_run: dict[tuple[str, str], set[Key]] = defaultdict(set)
        # Those that are scheduled, by what their limits are of.
        self.scheduled: dict[str, set[Key]] = defaultdict(set)
        self.is_crowded = False
        self.runs: dict[tuple[str, str], str | None] = {}
        # What could move on, since when, and why.
        self.waiting: dict[object, tuple[float, str]] = {}
        self.waits: list[tuple[float, str, str, float]] = []
        for dag_id, at in facts.released.items():
            if self.dags[dag_id].asset is None:
                self.waiting[dag_id] = (at, "to get a run")

    def apply(self, change: Change) -> None:
        self.use.apply(change)
        was_crowded, self.is_crowded = self.is_crowded, len(self.use.at_work) >= self.facts.parallelism
        run = (change.dag_id, change.run_id)
        if change.table == "run":
            self.runs[run] = change.new
            self._look_at_runs(change.dag_id, change.at)
        else:
            self._apply_task(change)
        concerned = self.of_run[run] | self.scheduled[f"pool {change.pool}"] | self.scheduled[change.dag_id]
        if was_crowded != self.is_crowded:
            concerned |= self.scheduled["all"]
        for key in concerned:
            self._look(key, change.at)

    def close(self) -> None:
        for what in list(self.waiting):
            self._settle(what, None, self.facts.ended)

    def _apply_task(self, change: Change) -> None:
        run = (change.dag_id, change.run_id)
        before = self.instances.pop(change.key, None)
        self.of_run[run].discard(change.key)
        for group in self._groups(before):
            group.discard(change.key)
        if change.what != "delete":
            self.instances[change.key] = change
            self.of_run[run].add(change.key)
            for group in self._groups(change):
                group.add(change.key)
        # Whatever has changed has moved on.
        is_same = before is not None and (before.new, before.try_number) == (change.new, change.try_number)
        if change.what == "delete" or not is_same:
            self._settle(change.key, None, change.at)

    def _groups(self, change: Change | None) -> list[set[Key]]:
        if change is None or change.new != "scheduled":
            return []
        return [self.scheduled[name] for name in ("all", f"pool {change.pool}", change.dag_id)]

    def _look(self, key: Key, at: float) -> None:
        self._settle(key, self._why(key), at)

    def _why(self, key: Key) -> str | None:
        row = self.instances.get(key)
        if row is None or row.new in FINISHED or self.runs.get((key.dag_id, key.run_id)) != "running":
            return None
        if row.new in (*AT_WORK, "up_for_retry"):
            return row.new
        if row.new == "scheduled":
            return "scheduled with room" if self._has_room(key, row) else None
        return "ready" if row.new is None and self._is_ready(key) else None

    def _is_ready(self, key: Key) -> bool:
        upstream = self.dags[key.dag_id].tasks[key.task_id].upstream
        before = [one for one in self.of_run[key.dag_id, key.run_id] if one.task_id in upstream]
        return all(self.instances[one].new in FINISHED for one in before)

    def _has_room(self, key: Key, row: Change) -> bool:
        dag, use = self.dags[key.dag_id], self.use
        task, run = dag.tasks[key.task_id], (key.dag_id, key.run_id)
        return (
            use.slots[row.pool] + row.pool_slots <= POOLS[row.pool]
            and use.of_run[run] < dag.max_active_tasks
            and use.of_task[key.dag_id, key.task_id] < (task.max_active_tis_per_dag or 1000)
            and use.of_task_in_run[(*run, key.task_id)] < (task.max_active_tis_per_dagrun or 1000)
            # Then every scheduler that lives has room.
            and not self.is_crowded
        )

    def _look_at_runs(self, dag_id: str, at: float) -> None:
        dag = self.dags[dag_id]
        has_room = self.use.runs_of_dag[dag_id] < dag.max_active_runs
        runs = {run: state for run, state in self.runs.items() if run[0] == dag_id}
        for run, state in runs.items():
            self._settle(run, "queued run with room" if state == "queued" and has_room else None, at)
        unfinished = sum(1 for state in runs.values() if state in ("queued", "running"))
        is_short = dag.asset is None and len(runs) < dag.runs and unfinished < dag.max_active_runs
        self._settle(dag_id, "to get a run" if is_short else None, at)

    def _settle(self, what: object, why: str | None, at: float) -> None:
        since, before = self.waiting.get(what, (at, None))
        if before == why:
            return
        if before is not None:
            del self.waiting[what]
            name = str(what) if isinstance(what, str | Key) else " of ".join(reversed(what))
            seconds = at - since - self._excused(what, since, at)
            self.waits.append((seconds, name, before, self.facts.ended - at))
        if why is not None:
            self.waiting[what] = (at, why)

    def _excused(self, what: object, since: float, at: float) -> float:
        """For how long something could not move on, of the time that it waited."""
        dag_id = what if isinstance(what, str) else what[0]
        hangs = self.dags[dag_id].has_own_timetable
        seconds = 0.0
        for excuse in self.excuses:
            if excuse.dag_id == dag_id or (not excuse.dag_id and hangs):
                seconds += max(0.0, min(at, excuse.until) - max(since, excuse.since))
        return seconds
