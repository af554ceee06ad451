"""The DAGs that `bench/scheduler` runs. None of their tasks runs user code: only scheduling is measured."""

from dataclasses import dataclass
from pathlib import Path

FILE = """\
from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

EDGES = {edges!r}
MAPPED = {mapped}

for number in range({dags}):
    with DAG(
        f"{name}_{{number:04}}",
        schedule="@once",
        start_date=datetime(2024, 1, 1),
        max_active_tasks=10_000,
        is_paused_upon_creation=True,
    ):
        tasks = [EmptyOperator(task_id=f"task_{{task:03}}") for task in range({tasks})]
        for upstream, downstream in EDGES:
            tasks[upstream] >> tasks[downstream]
        if MAPPED:
            EmptyOperator.partial(task_id="mapped").expand(doc=[str(number) for number in range(MAPPED)])
"""


@dataclass(frozen=True)
class Shape:
    """So many DAGs, of so many tasks each, which become due together."""

    name: str
    title: str
    dags: int
    tasks: int
    edges: tuple[tuple[int, int], ...] = ()
    mapped: int = 0

    @property
    def instances(self) -> int:
        return self.dags * (self.tasks + self.mapped)

    @property
    def dag_ids(self) -> list[str]:
        return [f"{self.name}_{number:04}" for number in range(self.dags)]

    @property
    def label(self) -> str:
        return f"{self.mapped:,} {self.title}" if self.mapped else f"{self.dags:,} x {self.title}"

    def write(self, home: Path) -> None:
        text = FILE.format(**vars(self))
        (home / "dags" / f"{self.name}.py").write_text(text)


def shapes(quick: bool) -> list[Shape]:
    part = 10 if quick else 1
    return [
        Shape("warm", "warm-up", 2, 3, _chain(3)),
        Shape("chain", "chains of 50 tasks", max(20 // part, 2), 50, _chain(50)),
        Shape("wide", "10 tasks without order", 100 // part, 10),
        Shape("wider", "100 tasks without order", max(10 // part, 1), 100),
        Shape("tree", "binary trees of 127 tasks", max(8 // part, 1), 127, _tree(127)),
        Shape("due", "DAGs of one task, due together", 1000 // part, 1),
        Shape("mapped", "instances of one mapped task", 1, 0, mapped=10_000 // part),
    ]


def many(quick: bool) -> Shape:
    """So many that what is remembered of each shows."""
    return Shape("many", "DAGs of ten tasks", 500 if quick else 5_000, 10, _chain(10))


def _chain(tasks: int) -> tuple[tuple[int, int], ...]:
    return tuple((task, task + 1) for task in range(tasks - 1))


def _tree(tasks: int) -> tuple[tuple[int, int], ...]:
    return tuple(((task - 1) // 2, task) for task in range(1, tasks))
