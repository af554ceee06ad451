"""The DAGs that `bench/execution` runs."""

from dataclasses import dataclass
from pathlib import Path

# As in the benchmark that Windmill has published for several orchestrators.
CHAIN = """\
from airflow.sdk import DAG, task


def fibo(n):
    return n if n <= 1 else fibo(n - 1) + fibo(n - 2)


with DAG("{dag_id}", schedule=None):
    before = None
    for number in range({tasks}):

        @task(task_id=f"task_{{number}}")
        def compute():
            return fibo({n})

        computed = compute()
        if before is not None:
            before >> computed
        before = computed
"""

PARALLEL = """\
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

# The executor's slots are the only limit.
with DAG("{dag_id}", schedule=None, max_active_tasks=1000):
    for number in range({tasks}):
        BashOperator(task_id=f"task_{{number}}", bash_command="true")
"""

# Every task tells that it runs, and then sleeps until it is told to end.
HOLD = """\
import time
from pathlib import Path

from airflow.sdk import DAG, task

with DAG("{dag_id}", schedule=None, max_active_tasks=1000):
    for number in range({tasks}):

        @task(task_id=f"task_{{number}}")
        def hold(number):
            folder = Path("{folder}")
            (folder / str(number)).touch()
            for _ in range(1200):
                if (folder / "release").exists():
                    return
                time.sleep(0.5)

        hold(number)
"""

# A task tells when its file was imported and when its function began; the connection closes with the process.
SPLIT = """\
import time

IMPORTED = time.time()

import json
import socket

from airflow.sdk import DAG, task

with DAG("{dag_id}", schedule=None):
    before = None
    for number in range({tasks}):

        @task(task_id=f"task_{{number}}")
        def tell(number):
            began = time.time()
            connection = socket.socket(socket.AF_UNIX)
            connection.connect("{folder}/marks")
            connection.sendall(json.dumps([f"task_{{number}}", IMPORTED, began]).encode())
            # Only the end of the process closes it now.
            connection.detach()

        told = tell(number)
        if before is not None:
            before >> told
        before = told
"""


@dataclass(frozen=True)
class Dag:
    """A DAG, and how many tasks it has."""

    dag_id: str
    text: str
    tasks: int
    n: int = 0

    def write(self, home: Path) -> None:
        text = self.text.format(dag_id=self.dag_id, tasks=self.tasks, n=self.n, folder=home)
        (home / "dags" / f"{self.dag_id}.py").write_text(text)


@dataclass(frozen=True)
class Dags:
    """All of them."""

    short: Dag
    long: Dag
    parallel: Dag
    hold: Dag
    split: Dag
    warm: Dag

    def __iter__(self):
        return iter(vars(self).values())


def dags(slots: int, quick: bool) -> Dags:
    return Dags(
        short=Dag("short_chain", CHAIN, tasks=10 if quick else 40, n=10),
        long=Dag("long_chain", CHAIN, tasks=3 if quick else 10, n=33),
        parallel=Dag("parallel", PARALLEL, tasks=slots if quick else 200),
        hold=Dag("hold", HOLD, tasks=slots),
        split=Dag("split", SPLIT, tasks=6 if quick else 25),
        warm=Dag("warm", CHAIN, tasks=2, n=1),
    )
