"""Both halves of `bench/dag_processing`: runs official Airflow's DAG processor and ours, one after the other.

    python airflow_dag_processing.py PROGRAM [--files N] [--edits N] [--seconds N]

Run by the virtualenv's Python, on the PostgreSQL of FERROFLOW_TEST_POSTGRES. Each has a database and a folder
of its own, with the same files, and Airflow's default configuration. Prints a table of both.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg2
import rows
from measuring import (
    AIRFLOW,
    airflow_environment,
    cpu_seconds,
    fresh_database,
    memory_mib,
    migrate,
    running,
    wait_for,
)

DAG_FILE = """\
from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG(
    "{dag_id}",
    schedule="{minute} {hour} * * *",
    start_date=datetime(2024, 1, 1),
    catchup=False,
    description="edition {edition}",
    tags=["bench", "group {group}"],
):
    before = None
    for number in range(10):
        task = BashOperator(task_id=f"task_{{number}}", bash_command=f"echo {{number}}")
        if before is not None:
            before >> task
        before = task
"""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--edits", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args(arguments)
    figures = []
    for name, program in (("Airflow", str(AIRFLOW)), ("ferroflow", options.program)):
        print(f"{name} processes {options.files} files", file=sys.stderr)
        figures.append(_measure(program, options))
    _print(options, *figures)


def _measure(program: str, options: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as temporary, fresh_database() as database:
        home = Path(temporary)
        folder = home / "dags"
        folder.mkdir()
        for number in range(options.files):
            _write(folder, number, edition=0)
        environment = airflow_environment(home, database)
        migrate(environment)
        command = [program, "dag-processor"]
        with psycopg2.connect(database) as connection, running(command, environment, home) as processor:
            connection.autocommit = True
            ask = connection.cursor()
            started = time.monotonic()
            wait_for(lambda: _stored(ask) == options.files, processor)
            figures = {"all": time.monotonic() - started}
            figures |= _idle(processor, options.seconds)
            figures["edit"] = statistics.median(
                _edit(folder, number, ask, processor)
                for number in random.Random(1).sample(range(options.files), options.edits)
            )
            return figures


def _write(folder: Path, number: int, edition: int) -> None:
    text = DAG_FILE.format(
        dag_id=f"bench_{number}", minute=number % 60, hour=number % 24, group=number % 10, edition=edition
    )
    # A file that is half written would be measured too.
    unfinished = folder / f"bench_{number}.unfinished"
    unfinished.write_text(text)
    unfinished.rename(folder / f"bench_{number}.py")


def _stored(ask) -> int:
    ask.execute("SELECT count(DISTINCT dag_id) FROM serialized_dag")
    return ask.fetchone()[0]


def _edit(folder: Path, number: int, ask, processor: subprocess.Popen) -> float:
    """Seconds from a change of a file to that of the stored document."""

    def document() -> str:
        ask.execute("SELECT dag_hash FROM serialized_dag WHERE dag_id = %s", (f"bench_{number}",))
        return ask.fetchone()[0]

    before = document()
    _write(folder, number, edition=1)
    started = time.monotonic()
    wait_for(lambda: document() != before, processor)
    return time.monotonic() - started


def _idle(processor: subprocess.Popen, seconds: int) -> dict[str, float]:
    """What an unchanged folder costs: seconds of CPU in so many seconds, and the memory of all processes."""
    before = cpu_seconds(processor.pid)
    sizes = []
    for _ in range(seconds):
        time.sleep(1)
        sizes.append(memory_mib(processor.pid))
    return {"cpu": cpu_seconds(processor.pid) - before, "memory": statistics.median(sizes)}


def _print(options: argparse.Namespace, theirs: dict[str, float], ours: dict[str, float]) -> None:
    print(f"{f'{options.files} DAG files, PostgreSQL':<48}{'Airflow':>12}{'ferroflow':>12}{'ratio':>9}")
    titles = {
        "all": ("until all are stored", "s"),
        "edit": (f"from an edit to its document, median of {options.edits}", "s"),
        "cpu": (f"CPU in {options.seconds} s with nothing changed", "s"),
        "memory": ("memory meanwhile, all processes", "MiB"),
    }
    for key, (title, unit) in titles.items():
        their, our = theirs[key], ours[key]
        rows.tell(f"{options.files} DAG files, {title}", unit, their, our)
        print(f"{title:<48}{their:>8,.1f} {unit:<3}{our:>8,.1f} {unit:<3}{their / max(our, 1e-3):>8,.1f}x")


if __name__ == "__main__":
    main(sys.argv[1:])
