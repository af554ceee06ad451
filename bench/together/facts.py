"""What was seen of a whole run: the database's history, its last state, and what tasks wrote."""

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from together import workload


class Key(NamedTuple):
    """A task instance."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int

    def __str__(self) -> str:
        copy = "" if self.map_index < 0 else f"[{self.map_index}]"
        return f"{self.dag_id}.{self.task_id}{copy} of {self.run_id}"


class Change(NamedTuple):
    """A row of `task_instance` or `dag_run` as it was changed; for a run, what is of tasks only is empty."""

    seq: int
    # Seconds, by the database server's clock.
    at: float
    # Whose connection it was.
    who: str
    # "task" or "run".
    table: str
    # "insert", "update" or "delete".
    what: str
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    try_number: int
    old: str | None
    new: str | None
    pool: str
    pool_slots: int
    job: int | None

    @property
    def key(self) -> Key:
        return Key(self.dag_id, self.run_id, self.task_id, self.map_index)

    def __str__(self) -> str:
        what = str(self.key) if self.table == "task" else f"run {self.run_id} of {self.dag_id}"
        number = f", try {self.try_number}" if self.table == "task" else ""
        return f"#{self.seq} {self.who}: {what}{number}: {self.what} {self.old} -> {self.new}, job {self.job}"


class Note(NamedTuple):
    """A line that a task or a callback wrote."""

    # "start" or "end" of a try; "run_called" or "try_called".
    what: str
    key: Key
    try_number: int
    pid: int


class CallbackChange(NamedTuple):
    """A row of `callback` that was inserted or deleted: "insert" or "delete"."""

    row: str
    what: str
    # What its callback writes.
    note: str
    key: Key
    try_number: int


@dataclass
class Excuse:
    """While this lasted, something could not move on. Seconds, by the server's clock."""

    # A run; of a timetable that hung, nothing: it is all DAGs' that have it.
    dag_id: str
    run_id: str
    since: float
    until: float | None = None


@dataclass
class Facts:
    dags: list[workload.Dag]
    parallelism: int
    # When each DAG was let go, by the server's clock, and when all was over.
    released: dict[str, float]
    ended: float
    history: list[Change] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    # What the tables hold in the end.
    instances: dict[Key, tuple[str | None, int]] = field(default_factory=dict)
    runs: dict[tuple[str, str], str] = field(default_factory=dict)
    # Past tries in `task_instance_history`.
    past_tries: set[tuple[Key, int]] = field(default_factory=set)
    # Who caused each event of an asset, and the runs that took it.
    asset_events: dict[int, Key] = field(default_factory=dict)
    taken_events: list[tuple[int, str, str]] = field(default_factory=list)
    waiting_for_assets: int = 0
    # What became of requests to call something.
    callbacks: list[CallbackChange] = field(default_factory=list)
    # Rows that were bad for a while, and timetables that hung.
    excuses: list[Excuse] = field(default_factory=list)

    @cached_property
    def _dags(self) -> dict[str, workload.Dag]:
        return {dag.dag_id: dag for dag in self.dags}

    def dag(self, dag_id: str) -> workload.Dag | None:
        return self._dags.get(dag_id)

    def released_dags(self) -> list[workload.Dag]:
        return [dag for dag in self.dags if dag.dag_id in self.released]


def read_notes(path: Path) -> list[Note]:
    notes = []
    for line in path.read_text().splitlines() if path.exists() else []:
        what, dag_id, run_id, task_id, map_index, try_number, pid = line.split(" ")
        notes.append(Note(what, Key(dag_id, run_id, task_id, int(map_index)), int(try_number), int(pid)))
    return notes


def save(facts: Facts, path: Path) -> None:
    """For whoever wants to look at it."""
    lists = asdict(facts) | {
        "instances": [[*key, *value] for key, value in facts.instances.items()],
        "runs": [[*key, value] for key, value in facts.runs.items()],
        "past_tries": sorted([*key, number] for key, number in facts.past_tries),
    }
    path.write_text(json.dumps(lists))


def load(path: Path) -> Facts:
    found = json.loads(path.read_text())
    return Facts(
        **found
        | {
            "dags": workload.load(json.dumps(found["dags"])),
            "history": [Change(*change) for change in found["history"]],
            "notes": [Note(what, Key(*key), number, pid) for what, key, number, pid in found["notes"]],
            "instances": {Key(*one[:4]): (one[4], one[5]) for one in found["instances"]},
            "runs": {(dag_id, run_id): state for dag_id, run_id, state in found["runs"]},
            "past_tries": {(Key(*one[:4]), one[4]) for one in found["past_tries"]},
            "asset_events": {int(event): Key(*key) for event, key in found["asset_events"].items()},
            "taken_events": [tuple(one) for one in found["taken_events"]],
            "excuses": [Excuse(**one) for one in found["excuses"]],
            "callbacks": [
                CallbackChange(row, what, note, Key(*key), number)
                for row, what, note, key, number in found["callbacks"]
            ],
        }
    )
