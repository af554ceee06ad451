"""The DAGs: shapes that meet every limit, tasks that write down that they ran.

A task writes one line when it starts and one when it has done its work, each with one write to the end of
one file, so that the order of lines is the order in which things happened. Callbacks write one, too: of a run
that has succeeded, and of a try after which there is another.
"""

import json
import random
from dataclasses import asdict, dataclass, field
from pathlib import Path

# How many slots each pool has. Most tasks are in one that is tight.
POOLS = {"one": 1, "two": 2, "three": 3, "default_pool": 6}

# Stands for the task in the line of a run's callback.
OF_RUN = "-"

# More often than faults can meet one task instance.
RETRIES = 60

FILE = """\
import os
import time
from datetime import datetime, timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, get_current_context, task
from own_timetable import Daily

NOTES = {notes!r}
DAGS = {dags!r}


def note(what, ti=None):
    ti = ti or get_current_context()["ti"]
    put(what, ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.try_number)


def run_called(context):
    run = context["dag_run"]
    put("run_called", run.dag_id, run.run_id, {of_run!r}, -1, 0)


def try_called(context):
    note("try_called", context["ti"])


def put(*words):
    words = (*words, os.getpid())
    file = os.open(NOTES, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(file, (" ".join(map(str, words)) + "\\n").encode())
    os.close(file)


def work(seconds, fails, number=None):
    note("start")
    time.sleep(seconds)
    if get_current_context()["ti"].try_number <= fails:
        raise ValueError("not yet")
    note("end")
    return [1, 2, 3]


def operator(dag_id, name, one, made):
    if one["kind"] == "empty":
        return EmptyOperator(task_id=name)
    options = {{key: one[key] for key in ("max_active_tis_per_dag", "max_active_tis_per_dagrun") if one[key]}}
    options |= {{"outlets": [Asset(one["outlet"])]}} if one["outlet"] else {{}}
    decorated = task(
        task_id=name,
        pool=one["pool"],
        pool_slots=one["pool_slots"],
        retries={retries},
        retry_delay=timedelta(0),
        on_retry_callback=try_called,
        **options,
    )(work)
    if one["kind"] == "mapped":
        fixed = decorated.partial(seconds=one["seconds"], fails=one["fails"])
        return fixed.expand(number=made[one["upstream"][0]])
    return decorated(one["seconds"], one["fails"])


for dag in DAGS:
    dates = {{"start_date": datetime(2024, 1, 1)}}
    if dag["asset"]:
        schedule = [Asset(dag["asset"])]
    elif dag["runs"] == 1:
        schedule = "@once"
    else:
        schedule = Daily() if dag["has_own_timetable"] else timedelta(days=1)
        dates["end_date"] = datetime(2024, 1, dag["runs"])
    with DAG(
        dag["dag_id"],
        schedule=schedule,
        catchup=True,
        max_active_runs=dag["max_active_runs"],
        max_active_tasks=dag["max_active_tasks"],
        is_paused_upon_creation=True,
        on_success_callback=run_called,
        **dates,
    ):
        made = {{}}
        for name, one in dag["tasks"].items():
            made[name] = operator(dag["dag_id"], name, one, made)
            for upstream in one["upstream"]:
                made[upstream] >> made[name]
"""


# Hangs while there is a file of that name.
PLUGIN = """\
import os
import time
from datetime import timedelta

from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.base import DagRunInfo, Timetable


class Daily(Timetable):
    @classmethod
    def deserialize(cls, data):
        return cls()

    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        while os.path.exists({hang!r}):
            time.sleep(0.1)
        day = restriction.earliest
        if last_automated_data_interval is not None:
            day = last_automated_data_interval.end
        if restriction.latest is not None and day > restriction.latest:
            return None
        return DagRunInfo.interval(day, day + timedelta(days=1))


class Timetables(AirflowPlugin):
    name = "own_timetable"
    timetables = [Daily]
"""


@dataclass
class Task:
    # "note", "mapped" over what its only upstream returns, or "empty".
    kind: str = "note"
    upstream: list[str] = field(default_factory=list)
    pool: str = "default_pool"
    pool_slots: int = 1
    seconds: float = 0.0
    # So many tries fail.
    fails: int = 0
    max_active_tis_per_dag: int | None = None
    max_active_tis_per_dagrun: int | None = None
    outlet: str | None = None

    @property
    def copies(self) -> int:
        return 3 if self.kind == "mapped" else 1

    @property
    def is_noted(self) -> bool:
        return self.kind != "empty"


@dataclass
class Dag:
    dag_id: str
    tasks: dict[str, Task]
    # How many there will be; with an asset, at least so many.
    runs: int = 1
    asset: str | None = None
    max_active_runs: int = 16
    max_active_tasks: int = 16
    # Whether its dates are told by Python, by `Daily`.
    has_own_timetable: bool = False

    @property
    def instances(self) -> int:
        """How many task instances a run has."""
        return sum(task.copies for task in self.tasks.values())


def make_dags(seed: int, name: str, dags: int, instances: int) -> list[Dag]:
    """So many DAGs, with about so many task instances each, in all their runs together."""
    chance = random.Random(f"{seed} {name}")
    shapes = [
        _chain,
        _fan,
        _mapped,
        _flaky,
        _catchup,
        _narrow,
        _alone,
        _heavy,
        _produces,
        _consumes,
        _own_dates,
    ]
    return [shapes[number % len(shapes)](chance, f"{name}_{number:03}", instances) for number in range(dags)]


def write(folder: Path, notes: Path, name: str, dags: list[Dag]) -> None:
    planned = [asdict(dag) for dag in dags]
    text = FILE.format(notes=str(notes), dags=planned, retries=RETRIES, of_run=OF_RUN)
    (folder / f"{name}.py").write_text(text)


def dump(dags: list[Dag]) -> str:
    return json.dumps([asdict(dag) for dag in dags])


def load(text: str) -> list[Dag]:
    dags = json.loads(text)
    return [Dag(**dag | {"tasks": {name: Task(**one) for name, one in dag["tasks"].items()}}) for dag in dags]


def _note(chance: random.Random, upstream: list[str], **other) -> Task:
    pool = chance.choice(["one", "two", "three", "three", "default_pool"])
    seconds = round(chance.choice([0, 0, 0.05, 0.2, 0.5]), 2)
    return Task(**{"upstream": upstream, "pool": pool, "seconds": seconds} | other)


def _chain(chance: random.Random, dag_id: str, instances: int) -> Dag:
    """One after the other, every third one empty."""
    tasks: dict[str, Task] = {}
    for number in range(instances):
        upstream = [f"step_{number - 1:02}"] if number else []
        is_empty = number % 3 == 2
        tasks[f"step_{number:02}"] = Task("empty", upstream) if is_empty else _note(chance, upstream)
    return Dag(dag_id, tasks)


def _fan(chance: random.Random, dag_id: str, instances: int) -> Dag:
    """All at once, in one pool, between two that are empty."""
    pool = chance.choice(["two", "three"])
    middle = {
        f"middle_{number:02}": _note(chance, ["first"], pool=pool) for number in range(max(1, instances - 2))
    }
    return Dag(dag_id, {"first": Task("empty"), **middle, "last": Task("empty", sorted(middle))})


def _mapped(chance: random.Random, dag_id: str, instances: int) -> Dag:
    """Lists, tasks that are mapped over them, and what comes after."""
    tasks: dict[str, Task] = {}
    for number in range(max(1, instances // 5)):
        before = [f"after_{number - 1:02}"] if number else []
        tasks[f"list_{number:02}"] = _note(chance, before)
        tasks[f"mapped_{number:02}"] = _note(chance, [f"list_{number:02}"], kind="mapped")
        tasks[f"after_{number:02}"] = Task("empty", [f"mapped_{number:02}"])
    return Dag(dag_id, tasks)


def _flaky(chance: random.Random, dag_id: str, instances: int) -> Dag:
    """Half of them fail at first."""
    tasks = {}
    for number in range(instances):
        upstream = [f"step_{number - 2:02}"] if number > 1 else []
        tasks[f"step_{number:02}"] = _note(chance, upstream, fails=number % 2)
    return Dag(dag_id, tasks)


def _catchup(chance: random.Random, dag_id: str, instances: int) -> Dag:
    """Several runs, of which few may run at once."""
    runs = max(2, min(5, instances // 4))
    tasks = {
        "first": _note(chance, []),
        "second": _note(chance, ["first"]),
        "third": Task("empty", ["second"]),
    }
    for number in range(instances // runs - 3):
        tasks[f"more_{number:02}"] = _note(chance, ["first"])
    return Dag(dag_id, tasks, runs=runs, max_active_runs=chance.randint(1, min(2, runs - 1)))


def _narrow(chance: random.Random, dag_id: str, instances: int) -> Dag:
    """A run may have two tasks at work, and one takes long."""
    tasks = {f"task_{number:02}": _note(chance, [], pool="default_pool") for number in range(instances)}
    # Long enough to outlive a scheduler that is taken for dead.
    tasks["task_00"].seconds = 8
    return Dag(dag_id, tasks, max_active_tasks=2)


def _alone(chance: random.Random, dag_id: str, instances: int) -> Dag:
    """Tasks of which one may be at work in all runs, or in one."""
    runs = max(2, min(4, instances // 4))
    tasks = {
        "alone": _note(chance, [], pool="three", max_active_tis_per_dag=1),
        "list": _note(chance, [], pool="three"),
        "mapped": _note(chance, ["list"], kind="mapped", pool="three", max_active_tis_per_dagrun=1),
    }
    for number in range(instances // runs - 5):
        tasks[f"more_{number:02}"] = _note(chance, ["alone"])
    return Dag(dag_id, tasks, runs=runs)


def _heavy(chance: random.Random, dag_id: str, instances: int) -> Dag:
    """Tasks of one and of two slots in one pool."""
    tasks = {
        f"task_{number:02}": _note(chance, [], pool="three", pool_slots=1 + number % 2)
        for number in range(instances)
    }
    return Dag(dag_id, tasks)


def _produces(chance: random.Random, dag_id: str, instances: int) -> Dag:
    """Every third task updates an asset."""
    tasks = {}
    for number in range(instances):
        outlet = None if number % 3 else f"asset_of_{dag_id}"
        upstream = [f"task_{number // 2:02}"] if number else []
        tasks[f"task_{number:02}"] = _note(chance, upstream, outlet=outlet)
    return Dag(dag_id, tasks)


def _consumes(chance: random.Random, dag_id: str, _: int) -> Dag:
    """Runs whenever the asset of the DAG before was updated; how often, depends."""
    name, number = dag_id.rsplit("_", 1)
    tasks = {"first": _note(chance, []), "last": Task("empty", ["first"])}
    return Dag(dag_id, tasks, asset=f"asset_of_{name}_{int(number) - 1:03}", max_active_runs=1)


def _own_dates(chance: random.Random, dag_id: str, _: int) -> Dag:
    """Runs at dates of its own, one after the other: Python is asked for the next when one was made."""
    tasks = {"first": _note(chance, []), "last": Task("empty", ["first"])}
    return Dag(dag_id, tasks, runs=3, max_active_runs=1, has_own_timetable=True)
