"""What `bench/execution` compares: official Airflow with its LocalExecutor, and ours."""

import json
import socket
import statistics
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from execution_dags import Dag, Dags
from measuring import AIRFLOW, GaveUp, cpu_seconds, memory_mib, running, wait_for

# After so long a process has come to rest; and so many times its memory is then read, a second apart.
REST = 3
READINGS = 3


@dataclass
class Run:
    """A run of a DAG. All but the first two are known when it has ended."""

    dag: Dag
    run_id: str
    seconds: float = 0
    since_trigger: float = 0
    cpu_per_task: float = 0


class _Side:
    """A scheduler and what belongs to it, which run all the time."""

    def __init__(self, ask, environment: dict[str, str], home: Path):
        self.ask, self.home = ask, home
        self.environment = environment | {
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
        }

    @contextmanager
    def ready(self, dags: Dags) -> Iterator[None]:
        """Everything runs, knows all DAGs, and has run one."""
        with ExitStack() as stack:
            self.all = [
                stack.enter_context(running(command, self.environment, self.home))
                for command in self.commands()
            ]
            wait_for(lambda: _stored(self.ask) == len(list(dags)), *self.all)
            self.wait_until_it_answers()
            with self.run(dags.warm):
                pass
            yield

    @contextmanager
    def run(self, dag: Dag) -> Iterator[Run]:
        """A run, from its trigger to its end."""
        cpu = self._cpu()
        run = Run(dag, self.trigger(dag))
        yield run
        wait_for(lambda: _state(self.ask, run) in ("success", "failed"), *self.all, pause=0.1)
        run.cpu_per_task = (self._cpu() - cpu) / dag.tasks
        triggered, start, end = _dates(self.ask, run, self.all[0])
        run.seconds, run.since_trigger = end - start, end - triggered

    def idle(self) -> dict[str, float]:
        return self._memory()

    def busy(self, dags: Dags) -> dict[str, float]:
        with self.run(dags.hold):
            wait_for(lambda: _held(self.home) == dags.hold.tasks, *self.all)
            memory = self._memory()
            (self.home / "release").touch()
        return memory

    def _cpu(self) -> float:
        return sum(cpu_seconds(process.pid) for process in self.counted())

    def _memory(self) -> dict[str, float]:
        alone, *others = self.counted()
        memory = _at_rest(alone.pid)
        return {"alone": memory, "all": memory + sum(memory_mib(process.pid) for process in others)}


class Official(_Side):
    """Scheduler with LocalExecutor, API server and DAG processor."""

    def __init__(self, ask, environment: dict[str, str], home: Path):
        super().__init__(ask, environment, home)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.environment |= {
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__SECRET_KEY": "for the benchmark",
            "AIRFLOW__API_AUTH__JWT_SECRET": "of the benchmark " * 4,
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        }

    def commands(self) -> list[list[str]]:
        return [[str(AIRFLOW), name] for name in ("scheduler", "api-server", "dag-processor")]

    def counted(self) -> list[subprocess.Popen]:
        return self.all[:2]

    def wait_until_it_answers(self) -> None:
        wait_for(self._answers, *self.all)

    def trigger(self, dag: Dag) -> str:
        return self._call(f"/api/v2/dags/{dag.dag_id}/dagRuns", {"logical_date": None})["dag_run_id"]

    def _answers(self) -> bool:
        try:
            self.token = self._call("/auth/token")["access_token"]
            return self._call("/api/v2/monitor/health")["scheduler"]["status"] == "healthy"
        except (urllib.error.URLError, OSError):
            return False

    def _call(self, path: str, body: dict | None = None) -> dict:
        headers = {"Content-Type": "application/json"}
        if path.startswith("/api"):
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


class Ours(_Side):
    """`ferroflow scheduler`, which needs no API server, and `ferroflow dag-processor`."""

    def __init__(
        self,
        ask,
        environment: dict[str, str],
        home: Path,
        program: str,
        templates: int = 0,
        tasks_per_process: int = 1,
    ):
        super().__init__(ask, environment, home)
        self.program = program
        self.environment |= {
            "AIRFLOW__FERROFLOW__TASK_TEMPLATES": str(templates),
            "AIRFLOW__FERROFLOW__TASKS_PER_PROCESS": str(tasks_per_process),
        }

    def commands(self) -> list[list[str]]:
        return [[self.program, "scheduler"], [self.program, "dag-processor"]]

    def counted(self) -> list[subprocess.Popen]:
        return self.all[:1]

    def wait_until_it_answers(self) -> None:
        """The run that comes first waits as long as it takes."""

    def trigger(self, dag: Dag) -> str:
        command = [self.program, "dags", "trigger", dag.dag_id, "--output", "json"]
        answer = subprocess.run(command, env=self.environment, cwd=self.home, check=True, capture_output=True)
        return json.loads(answer.stdout)[0]["dag_run_id"]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _at_rest(root: int) -> float:
    time.sleep(REST)
    sizes = []
    for _ in range(READINGS):
        sizes.append(memory_mib(root))
        time.sleep(1)
    return statistics.median(sizes)


def _held(home: Path) -> int:
    return sum(1 for entry in home.iterdir() if entry.name.isdigit())


def _stored(ask) -> int:
    ask.execute("SELECT count(DISTINCT dag_id) FROM serialized_dag")
    return ask.fetchone()[0]


def _state(ask, run: Run) -> str:
    ask.execute("SELECT state FROM dag_run WHERE dag_id = %s AND run_id = %s", (run.dag.dag_id, run.run_id))
    return ask.fetchone()[0]


def _counts(ask, run: Run) -> dict[str, int]:
    statement = "SELECT state, count(*) FROM task_instance WHERE dag_id = %s AND run_id = %s GROUP BY state"
    ask.execute(statement, (run.dag.dag_id, run.run_id))
    return dict(ask.fetchall())


def _dates(ask, run: Run, process: subprocess.Popen) -> tuple[float, float, float]:
    """When a run was made, began and ended. A run that did not do all of its work is no measurement."""
    if _state(ask, run) != "success" or _counts(ask, run) != {"success": run.dag.tasks}:
        raise GaveUp(f"did not do all of {run.dag.dag_id}: {_state(ask, run)}, {_counts(ask, run)}", process)
    statement = "SELECT queued_at, start_date, end_date FROM dag_run WHERE dag_id = %s AND run_id = %s"
    ask.execute(statement, (run.dag.dag_id, run.run_id))
    queued, start, end = ask.fetchone()
    return queued.timestamp(), start.timestamp(), end.timestamp()
