"""Both halves of `bench/dag_processing`: runs official Airflow's DAG processor and ours, one after the other.

    python airflow_dag_processing.py PROGRAM [--files N] [--edits N] [--seconds N]

Run by the virtualenv's Python, on the PostgreSQL of FERROFLOW_TEST_POSTGRES. Each has a database and a folder
of its own, with the same files, and Airflow's default configuration. Prints a table of both.
"""

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg2

AIRFLOW = Path(sys.executable).with_name("airflow")
TICKS = os.sysconf("SC_CLK_TCK")
# Longer than any of Airflow's own intervals.
PATIENCE = 1_200
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
    with tempfile.TemporaryDirectory() as home, _database() as database:
        folder = Path(home) / "dags"
        folder.mkdir()
        for number in range(options.files):
            _write(folder, number, edition=0)
        environment = _environment(Path(home), database)
        # The same schema for both, made by official Airflow.
        subprocess.run([AIRFLOW, "db", "migrate"], env=environment, check=True, capture_output=True)
        with psycopg2.connect(database) as connection, _running(program, environment, home) as processor:
            connection.autocommit = True
            ask = connection.cursor()
            started = time.monotonic()
            _wait(lambda: _stored(ask) == options.files, processor)
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


def _environment(home: Path, database: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    return kept | {
        "PATH": f"{AIRFLOW.parent}{os.pathsep}{os.environ['PATH']}",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.replace("postgresql://", "postgresql+psycopg2://", 1),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }


@contextmanager
def _database() -> Iterator[str]:
    server = os.environ.get("FERROFLOW_TEST_POSTGRES")
    if not server:
        sys.exit("there is no PostgreSQL to measure on; run: ./test -- bench/dag_processing")
    name = f"bench_{os.getpid()}"
    _administer(server, f"CREATE DATABASE {name}")
    try:
        yield f"{server.rsplit('/', 1)[0]}/{name}"
    finally:
        _administer(server, f"DROP DATABASE {name} WITH (FORCE)")


def _administer(server: str, statement: str) -> None:
    connection = psycopg2.connect(server)
    connection.autocommit = True
    connection.cursor().execute(statement)
    connection.close()


@contextmanager
def _running(program: str, environment: dict[str, str], home: str) -> Iterator[subprocess.Popen]:
    with (Path(home) / "processor.log").open("wb") as log:
        processor = subprocess.Popen(
            [program, "dag-processor"], env=environment, cwd=home, stdout=log, stderr=subprocess.STDOUT
        )
        processor.log = Path(home) / "processor.log"
        try:
            yield processor
        finally:
            processor.send_signal(signal.SIGTERM)
            try:
                processor.wait(timeout=60)
            except subprocess.TimeoutExpired:
                processor.kill()


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
    _wait(lambda: document() != before, processor)
    return time.monotonic() - started


def _wait(fact: Callable[[], bool], processor: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE
    while not fact():
        if processor.poll() is not None or time.monotonic() > deadline:
            tail = processor.log.read_text(errors="replace").splitlines()[-20:]
            sys.exit("\n".join([*tail, f"{processor.args[0]} ended, or took longer than {PATIENCE} s"]))
        time.sleep(0.05)


def _idle(processor: subprocess.Popen, seconds: int) -> dict[str, float]:
    """What an unchanged folder costs: seconds of CPU in so many seconds, and the memory of all processes."""
    before = _cpu_seconds(processor.pid)
    sizes = []
    for _ in range(seconds):
        time.sleep(1)
        sizes.append(sum(map(_proportional_mib, _tree(processor.pid))))
    return {"cpu": _cpu_seconds(processor.pid) - before, "memory": statistics.median(sizes)}


def _tree(root: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            parents[int(entry.name)] = int(stat[1])
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def _cpu_seconds(root: int) -> float:
    """Of the processes that live, and of those that they have waited for."""
    return sum(sum(map(int, stat[11:15])) for stat in map(_stat, _tree(root)) if stat) / TICKS


def _stat(process: int) -> list[str] | None:
    """The fields from the third on: the second may hold anything."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def _proportional_mib(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


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
        print(f"{title:<48}{their:>8,.1f} {unit:<3}{our:>8,.1f} {unit:<3}{their / max(our, 1e-3):>8,.1f}x")


if __name__ == "__main__":
    main(sys.argv[1:])
