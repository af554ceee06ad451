"""What the measurements of running programs have in common: databases, processes, CPU, memory."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg2

AIRFLOW = Path(sys.executable).with_name("airflow")
TICKS = os.sysconf("SC_CLK_TCK")
# Longer than any of Airflow's own intervals.
PATIENCE = 1_200
_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def fresh_database() -> Iterator[str]:
    """The URL of a PostgreSQL database that is gone afterwards."""
    server = os.environ.get("FERROFLOW_TEST_POSTGRES")
    if not server:
        sys.exit("there is no PostgreSQL to measure on; run: ./test -- bench/…")
    name = f"bench_{os.getpid()}"
    administer(server, f"CREATE DATABASE {name}")
    try:
        yield f"{server.rsplit('/', 1)[0]}/{name}"
    finally:
        administer(server, f"DROP DATABASE {name} WITH (FORCE)")


def administer(server: str, statement: str) -> None:
    """Executes a statement about databases."""
    connection = psycopg2.connect(server)
    connection.autocommit = True
    connection.cursor().execute(statement)
    connection.close()


def airflow_environment(home: Path, database: str) -> dict[str, str]:
    """The environment of either program: Airflow's defaults, but for the home and the database."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    return kept | {
        "PATH": f"{AIRFLOW.parent}{os.pathsep}{os.environ['PATH']}",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.replace("postgresql://", "postgresql+psycopg2://", 1),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        # A bash whose standard input is a socket, as a task's is, reads `.bashrc` if this says less: what
        # stands there would be measured.
        "SHLVL": "2",
    }


def migrate(environment: dict[str, str]) -> None:
    """The same schema for both, made by official Airflow."""
    subprocess.run([AIRFLOW, "db", "migrate"], env=environment, check=True, capture_output=True)


@contextmanager
def running(
    arguments: Sequence[str], environment: dict[str, str], home: Path, log: Path | None = None
) -> Iterator[subprocess.Popen]:
    """A program while it runs. Nothing that it started is left afterwards."""
    log = log or home / f"{arguments[1]}.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            arguments, env=environment, cwd=home, stdout=output, stderr=subprocess.STDOUT
        )
    process.log = log
    try:
        yield process
    finally:
        started = [(pid, _birth(pid)) for pid in tree(process.pid)]
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pid, birth in started:
            # Not a newer process that was given the same number.
            if birth is not None and _birth(pid) == birth:
                os.kill(pid, signal.SIGKILL)


def wait_for(fact: Callable[[], bool], *processes: subprocess.Popen, pause: float = 0.05) -> None:
    """Returns when it is so; gives up if one of the processes ends before."""
    deadline = time.monotonic() + PATIENCE
    while not fact():
        if ended := [process for process in processes if process.poll() is not None]:
            raise GaveUp("ended", *ended)
        if time.monotonic() > deadline:
            raise GaveUp(f"took longer than {PATIENCE} s", *processes)
        time.sleep(pause)


class GaveUp(SystemExit):
    """There is nothing to measure: why, and what the processes said last."""

    def __init__(self, reason: str, *processes: subprocess.Popen):
        tails = [line for one in processes for line in one.log.read_text(errors="replace").splitlines()[-20:]]
        names = ", ".join(" ".join(map(str, one.args[:3])) for one in processes) or "it"
        super().__init__("\n".join([*tails, f"{names} {reason}"]))


def adopt_orphans() -> None:
    """From now on, a process below this one whose parent has ended becomes a child of this one."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot adopt orphans")


def tree(root: int) -> list[int]:
    """A process and all below it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            parents[int(entry.name)] = int(stat[1])
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def cpu_seconds(root: int) -> float:
    """Of the processes that live, and of those that they have waited for."""
    return sum(sum(map(int, stat[11:15])) for stat in map(_stat, tree(root)) if stat) / TICKS


def memory_mib(root: int, below: bool = True) -> float:
    """What a process and, unless told otherwise, all below it use; what they share counts once."""
    return sum(map(_proportional_mib, tree(root) if below else [root]))


def peak_mib(process: int) -> float:
    """The most that a process alone ever had."""
    return _mib(Path(f"/proc/{process}/status"), "VmHWM:")


def _proportional_mib(process: int) -> float:
    folder = Path(f"/proc/{process}")
    try:
        return _mib(folder / "smaps_rollup", "Pss:")
    except PermissionError:
        # Ours hides its memory from its tasks; what is resident is told to anybody, and is no less.
        return _mib(folder / "status", "VmRSS:")
    except OSError:
        return 0.0


def _mib(file: Path, name: str) -> float:
    lines = file.read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(name)), 0.0)


def _birth(process: int) -> str | None:
    stat = _stat(process)
    return stat[19] if stat and stat[0] != "Z" else None


def _stat(process: int) -> list[str] | None:
    """The fields from the third on: the second may hold anything."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
