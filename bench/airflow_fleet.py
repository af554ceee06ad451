"""What `bench/fleet` measures: our scheduler, alone and beside another, on the database of a large site.

    python airflow_fleet.py PROGRAM [--dags N] [--due N] ... [--json FILE]

Run by the virtualenv's Python, on the PostgreSQL of FERROFLOW_TEST_POSTGRES. Airflow makes the schema and
parses one file; all else is copied from that by SQL (`fleet_rows.py`). Each number of schedulers has a copy
of the same database.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fleet_events import Events, Past
from fleet_rows import DAG_FILE, PLUGIN, Size, add_fleet, add_locked_run, make_due
from measuring import (
    AIRFLOW,
    GaveUp,
    administer,
    airflow_environment,
    cpu_seconds,
    fresh_database,
    memory_mib,
    migrate,
    peak_mib,
    running,
    wait_for,
)
from sqlalchemy import Connection, create_engine, text

# What is wanted, of each scheduler: figure, title, unit, most.
LIMITS = (
    ("due queued", "seconds until all due runs are made and queued", 15),
    ("quiet p99", "seconds from event to action, p99, while nothing else happens", 1),
    ("past p99", "seconds from event to action, p99, while runs that wait for each other get on", 1),
    ("due p99", "seconds from event to action, p99, while runs are due", 1),
    ("idle", "CPU of a scheduler while nothing happens, % of a core", 3),
    ("memory", "memory of a scheduler at most, MiB", 500),
)

# Due in so many seconds: whoever waits for a date has heard of it by then.
AHEAD = 10
# What has settled uses less than this of a core.
SETTLED = 0.15
SETTLE_PATIENCE = 600


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench/fleet")
    parser.add_argument("program")
    parser.add_argument("--dags", type=int, default=50_000)
    parser.add_argument("--due", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--waiting", type=int, default=5_000)
    parser.add_argument("--catchup", type=int, default=1_500)
    parser.add_argument("--history", type=int, default=2_000_000)
    parser.add_argument("--schedulers", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--seconds", type=int, default=60, help="for how long idleness and events are measured"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    size = Size(options.dags, options.due, options.runs, options.waiting, options.catchup, options.history)
    program = [str(Path(options.program).resolve()), "fleet"]
    figures: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as temporary, fresh_database() as original:
        home = Path(temporary)
        environment = _prepare(home, original, size)
        for number in options.schedulers:
            _say(f"{number} scheduler{'s' if number > 1 else ''}")
            with _copy(original) as database:
                own = environment | airflow_environment(home, database)
                figures[number] = _measure(program, number, own, home, size, options.seconds)
            if options.json:
                options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return _print(figures)


def _prepare(home: Path, database: str, size: Size) -> dict[str, str]:
    """The database of the site. Returns what is set besides Airflow's own."""
    (home / "dags").mkdir()
    (home / "plugins").mkdir()
    (home / "dags" / "fleet.py").write_text(DAG_FILE)
    (home / "plugins" / "hanging.py").write_text(PLUGIN.format(flag=str(home / "hang")))
    besides = {
        "AIRFLOW__CORE__PARALLELISM": "1000000",
        "AIRFLOW__FERROFLOW__PYTHON": sys.executable,
        "PYTHONPATH": str(home / "plugins"),
    }
    environment = besides | airflow_environment(home, database)
    migrate(environment)
    subprocess.run(
        [AIRFLOW, "dag-processor", "--num-runs", "1"],
        env=environment,
        cwd=home,
        check=True,
        capture_output=True,
    )
    url = environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as ask:
        parsed = ask.execute(text("SELECT count(*) FROM serialized_dag")).scalar()
        if parsed != 5:
            problems = ask.execute(text("SELECT stacktrace FROM import_error")).scalars()
            raise GaveUp("\n".join([f"{parsed} DAGs were parsed", *problems]))
        began = time.monotonic()
        add_fleet(ask, size)
        add_locked_run(ask)
        _say(f"rows made in {time.monotonic() - began:.0f} s")
    engine.dispose()
    (home / "hang").touch()
    return besides


@contextlib.contextmanager
def _copy(original: str) -> Iterator[str]:
    """A copy of a database, which is gone afterwards."""
    server, name = original.rsplit("/", 1)
    copy = f"{name}_copy"
    # Nobody may be connected to what is copied.
    administer(f"{server}/postgres", f"CREATE DATABASE {copy} TEMPLATE {name}")
    try:
        yield f"{server}/{copy}"
    finally:
        administer(f"{server}/postgres", f"DROP DATABASE {copy} WITH (FORCE)")


def _measure(
    program: list[str], number: int, environment: dict[str, str], home: Path, size: Size, seconds: int
) -> dict[str, float]:
    figures: dict[str, float] = {}
    engine = create_engine(environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"])
    with contextlib.ExitStack() as stack, engine.connect() as ask, engine.connect() as holder:
        ask = ask.execution_options(isolation_level="AUTOCOMMIT")
        holder.execute(text("SELECT 1 FROM dag_run WHERE run_id = 'locked' FOR UPDATE"))
        schedulers = []
        for one in range(number):
            log = home / f"scheduler_{number}_{one}.log"
            schedulers.append(stack.enter_context(running(program, environment, home, log=log)))
        began = time.monotonic()
        figures["settled"] = _settle(ask, schedulers, size) - began
        _say(f"  settled after {figures['settled']:.0f} s")
        figures["idle"] = _idle(schedulers, seconds)
        _say(f"  idle: {figures['idle']:.2f} % of a core each")
        _percentiles(figures, "quiet", _quiet_events(engine, seconds))
        past = Past(engine)
        past.start()
        _percentiles(figures, "past", _quiet_events(engine, seconds, "past"))
        _due(ask, engine, schedulers, size, figures)
        figures["tasks that others depended on"] = past.stop()
        for process in schedulers:
            own = peak_mib(process.pid)
            figures["memory"] = max(figures.get("memory", 0), own)
            figures["memory now"] = max(figures.get("memory now", 0), memory_mib(process.pid, below=False))
            figures["memory with Python"] = max(figures.get("memory with Python", 0), memory_mib(process.pid))
        holder.rollback()
    engine.dispose()
    return figures


def _settle(ask: Connection, schedulers: list[subprocess.Popen], size: Size) -> float:
    """Returns when all running runs are looked after, and little is done."""
    unattended = text(
        "SELECT count(*) FROM dag_run r WHERE state = 'running' AND run_id <> 'locked'"
        " AND (scheduled_by_job_id IS NULL OR last_scheduling_decision IS NULL)"
    )
    wait_for(lambda: ask.execute(unattended).scalar() == 0, *schedulers, pause=1)
    deadline = time.monotonic() + SETTLE_PATIENCE
    while _usage(schedulers, 3) / 3 > SETTLED * len(schedulers):
        if time.monotonic() > deadline:
            _say("  it does not settle")
            break
    return time.monotonic()


def _usage(schedulers: list[subprocess.Popen], seconds: float) -> float:
    before = sum(cpu_seconds(process.pid) for process in schedulers)
    time.sleep(seconds)
    return sum(cpu_seconds(process.pid) for process in schedulers) - before


def _idle(schedulers: list[subprocess.Popen], seconds: int) -> float:
    """What each uses while nothing happens, in percent of a core."""
    return 100 * _usage(schedulers, seconds) / seconds / len(schedulers)


def _quiet_events(engine, seconds: int, name: str = "quiet") -> list[float]:
    events = Events(engine, name)
    events.start()
    time.sleep(seconds)
    return events.stop()


def _due(ask: Connection, engine, schedulers, size: Size, figures: dict[str, float]) -> None:
    """Many DAGs are due at once."""
    cpu = sum(cpu_seconds(process.pid) for process in schedulers)
    make_due(ask, size, AHEAD)
    due = time.monotonic() + AHEAD
    time.sleep(AHEAD)
    events = Events(engine, "due")
    events.start()
    # Both by an index and over few rows: whoever looks on takes as little as possible from what is measured.
    made = text(
        "SELECT count(*) FROM fleet f JOIN dag d ON d.dag_id = f.dag_id"
        " WHERE f.n < :due AND d.next_dagrun <> timestamptz '2025-01-01+00'"
    )
    queued = text(
        "SELECT count(*) FROM task_instance WHERE state = 'queued' AND dag_id NOT IN ('past', 'zz_unrelated')"
    )
    questions = (("due made", made, {"due": size.due}), ("due queued", queued, {}))
    for name, question, which in questions:
        wait_for(lambda: ask.execute(question, which).scalar() >= size.due, *schedulers, pause=0.5)  # noqa: B023
        figures[name] = time.monotonic() - due
        _say(f"  {name}: {figures[name]:.1f} s")
    _percentiles(figures, "due", events.stop())
    figures["due CPU"] = sum(cpu_seconds(process.pid) for process in schedulers) - cpu


def _percentiles(figures: dict[str, float], name: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    figures[f"{name} events"] = len(ordered)
    figures[f"{name} p50"] = statistics.median(ordered)
    figures[f"{name} p99"] = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    figures[f"{name} longest"] = ordered[-1]
    p50, p99 = figures[f"{name} p50"], figures[f"{name} p99"]
    _say(f"  {name} events: {len(ordered)}, p50 {p50:.3f} s, p99 {p99:.3f} s")


def _print(figures: dict[int, dict[str, float]]) -> int:
    """The table. Answers whether anything is beyond its limit."""
    head = "".join(f"{f'{number} scheduler' + ('s' if number > 1 else ''):>16}" for number in figures)
    print(f"{'':<66}{head}{'wanted':>10}")
    beyond = 0
    for name, title, most in LIMITS:
        values = [one[name] for one in figures.values()]
        beyond += sum(value > most for value in values)
        print(f"{title:<66}{''.join(f'{value:>16,.2f}' for value in values)}{f'< {most}':>10}")
    shown = {name for name, *_ in LIMITS}
    for name in next(iter(figures.values()), {}):
        if name not in shown:
            values = [one[name] for one in figures.values()]
            print(f"    {name:<62}{''.join(f'{value:>16,.2f}' for value in values)}")
    return int(beyond > 0)


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main(sys.argv[1:]))
