"""Both halves of `bench/standalone`: official `airflow standalone`, then ours.

    python airflow_standalone.py PROGRAM

Run by the virtualenv's Python. The tables are made before, which is not measured.
"""

import contextlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rows
from execution_sides import free_port
from measuring import AIRFLOW, adopt_orphans, airflow_environment, memory_mib, migrate, running, wait_for

DAG = """\
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG, task

with DAG("first", schedule="@once", start_date=datetime(2024, 1, 1)):

    @task
    def tell():
        Path("{folder}", "ran").touch()

    tell()
"""

# After so long everything has come to rest; and so many times the memory is then read, a second apart.
REST = 15
READINGS = 5

TITLES = {
    "ready": ("until DAG processor and scheduler run", "s"),
    "first": ("until the first task runs", "s"),
    "all": ("memory, idle, all processes", "MiB"),
    "alone": ("memory, idle, of the Rust process", "MiB"),
}


def main(program: str) -> None:
    adopt_orphans()
    sides = {
        "Airflow": _measure([str(AIRFLOW), "standalone"]),
        "ferroflow": _measure([str(Path(program).resolve()), "standalone"]),
    }
    del sides["Airflow"]["alone"]
    print(f"{'standalone, SQLite':<44}{''.join(f'{name:>14}' for name in sides)}")
    for key, (title, unit) in TITLES.items():
        theirs, ours = (side.get(key) for side in sides.values())
        cells = ("-" if figure is None else f"{figure:,.2f} {unit}" for figure in (theirs, ours))
        print(f"{title:<44}{''.join(f'{cell:>14}' for cell in cells)}")
        rows.tell(f"standalone on SQLite: {title}", unit, theirs, ours)


def _measure(command: list[str]) -> dict[str, float]:
    print(" ".join(command), file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        (home / "dags").mkdir()
        (home / "dags" / "first.py").write_text(DAG.format(folder=home))
        database = home / "airflow.db"
        environment = airflow_environment(home, f"sqlite:///{database}") | {
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__FERROFLOW__PYTHON": sys.executable,
            "AIRFLOW__API__PORT": str(free_port()),
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
        }
        environment["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] = (
            f"http://127.0.0.1:{environment['AIRFLOW__API__PORT']}/execution/"
        )
        migrate(environment)
        began = time.monotonic()
        with running(command, environment, home) as process:
            wait_for(lambda: _run(database), process, pause=0.02)
            figures = {"ready": time.monotonic() - began}
            wait_for((home / "ran").exists, process, pause=0.02)
            figures["first"] = time.monotonic() - began
            time.sleep(REST)
            figures |= _memory(process)
        return figures


def _run(database: Path) -> bool:
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as ask:
        statement = "SELECT DISTINCT job_type FROM job WHERE state = 'running'"
        kinds = {kind for (kind,) in ask.execute(statement)}
    return {"SchedulerJob", "DagProcessorJob"} <= kinds


def _memory(process: subprocess.Popen) -> dict[str, float]:
    readings = []
    for _ in range(READINGS):
        readings.append((memory_mib(process.pid), memory_mib(process.pid, below=False)))
        time.sleep(1)
    everything, alone = (statistics.median(column) for column in zip(*readings, strict=True))
    return {"all": everything, "alone": alone}


if __name__ == "__main__":
    main(sys.argv[1])
