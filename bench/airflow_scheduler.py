"""Both halves of `bench/scheduler`: the official scheduler works through the DAGs, then ours, also on SQLite.

    python airflow_scheduler.py PROGRAM [--repeat N] [--json FILE] [--quick] [--history N]

Run by the virtualenv's Python, on the PostgreSQL of FERROFLOW_TEST_POSTGRES. Each side has a database of its
own, made by official Airflow, with the same files, stored by the official DAG processor. DAGs are due from
the moment that they are not paused any more; a measurement begins there, and ends with the last run. On
PostgreSQL ours is told of that by the triggers of `ferroflow db notify --install`; on SQLite it finds out
within a second.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import rows
from measuring import (
    AIRFLOW,
    GaveUp,
    adopt_orphans,
    airflow_environment,
    cpu_seconds,
    fresh_database,
    memory_mib,
    migrate,
    running,
    wait_for,
)
from scheduler_history import add_history
from scheduler_shapes import Shape, many, shapes
from sqlalchemy import Connection, TextClause, bindparam, create_engine, text

Figures = dict[str, list[float]]

# What is measured again when there is a history.
FIRST = "chain"

# What is over within so many seconds is measured so often.
QUICK_SECONDS = 2
QUICK_TURNS = 7


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--history", type=int, help="finished runs in the tables, ten tasks each")
    parser.add_argument("--ours", action="store_true", help="without the official scheduler")
    options = parser.parse_args(arguments)
    options.history = options.history or (1_000 if options.quick else 100_000)
    program = str(Path(options.program).resolve())
    ours = [program, "scheduler"]
    sides: dict[str, Callable[[Figures], None]] = {
        "Airflow": lambda figures: _measure(
            "Airflow", [str(AIRFLOW), "scheduler"], _postgres, options, figures
        ),
        "ferroflow": lambda figures: _measure("ferroflow", ours, _postgres, options, figures),
        "on SQLite": lambda figures: _measure("ferroflow on SQLite", ours, _sqlite, options, figures),
        "memory": lambda figures: _measure_many(program, options, figures),
    }
    if options.ours:
        del sides["Airflow"]
    adopt_orphans()
    figures: dict[str, Figures] = {name: {} for name in sides}
    for name, measure in sides.items():
        measure(figures[name])
        if options.json:
            options.json.write_text(json.dumps(figures, indent=1) + "\n")
    _print(options, figures)


def _measure(name: str, command: list[str], place: Callable, options, figures: Figures) -> None:
    all_shapes = shapes(options.quick)
    with _ready(all_shapes, place, str(AIRFLOW), command) as (process, ask):
        for shape in all_shapes:
            _several(f"{name}: {shape.title}", ask, shape, shape.name, process, options, figures)
        time.sleep(3)
        figures.setdefault("memory", []).append(memory_mib(process.pid))
        if place is _postgres:
            _say(f"{name}: {options.history} finished runs are added")
            add_history(ask, options.history)
            shape = next(shape for shape in all_shapes if shape.name == FIRST)
            _several(f"{name}: {shape.title}, with them", ask, shape, "history", process, options, figures)


def _measure_many(program: str, options, figures: Figures) -> None:
    """What ours remembers of many DAGs that have all just run."""
    shape = many(options.quick)
    _say(f"ferroflow: {shape.dags} {shape.title}")
    with _ready([shape], _postgres, program, [program, "scheduler"]) as (process, ask):
        time.sleep(3)
        figures["before"] = [memory_mib(process.pid, below=False)]
        _once(ask, shape, shape.name, process, figures)
        figures["after"] = [memory_mib(process.pid, below=False)]


@contextmanager
def _ready(
    all_shapes: list[Shape], place: Callable, parser: str, command: list[str]
) -> Iterator[tuple[subprocess.Popen, Connection]]:
    """A scheduler on a database that knows all DAGs."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        (home / "dags").mkdir()
        for shape in all_shapes:
            shape.write(home)
        with place(home) as database:
            environment = airflow_environment(home, database)
            migrate(environment)
            prepare = [[parser, "dag-processor", "--num-runs", "1"]]
            if place is _postgres and command[0] != str(AIRFLOW):
                prepare.append([command[0], "db", "notify", "--install"])
            for step in prepare:
                subprocess.run(step, env=environment, cwd=home, check=True, capture_output=True)
            url = environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
            engine = create_engine(url, isolation_level="AUTOCOMMIT")
            with engine.connect() as ask, running(command, environment, home) as process:
                if place is _sqlite:
                    # The task instances of a run go with it.
                    ask.execute(text("PRAGMA foreign_keys = ON"))
                yield process, ask
            engine.dispose()


@contextmanager
def _postgres(_home: Path) -> Iterator[str]:
    with fresh_database() as database:
        yield database


@contextmanager
def _sqlite(home: Path) -> Iterator[str]:
    yield f"sqlite:///{home}/airflow.db"


def _several(
    title: str,
    ask: Connection,
    shape: Shape,
    name: str,
    process: subprocess.Popen,
    options,
    figures: Figures,
) -> None:
    """As often as asked for; what takes a fraction of a second more often, as that varies."""
    seconds = figures.setdefault(name, [])
    while len(seconds) < options.repeat or (len(seconds) < QUICK_TURNS and max(seconds) < QUICK_SECONDS):
        _say(f"{title}, {len(seconds) + 1}")
        _once(ask, shape, name, process, figures)


def _once(ask: Connection, shape: Shape, name: str, process: subprocess.Popen, figures: Figures) -> None:
    """One measurement. Afterwards the runs are gone, and the DAGs are paused, as before."""
    cpu = cpu_seconds(process.pid)
    which = {"dags": shape.dag_ids}
    # Before: whoever is told may be faster than the answer.
    began, clock = datetime.now(UTC), time.monotonic()
    ask.execute(_of_dags("UPDATE dag SET is_paused = false WHERE dag_id IN :dags"), which)
    # By an index: what is asked here costs the same with a history.
    runs = "FROM dag_run WHERE dag_id IN :dags AND logical_date >= '2024-01-01 00:00:00'"
    ended = _of_dags(f"SELECT count(*) {runs} AND end_date IS NOT NULL")
    wait_for(lambda: ask.execute(ended, which).scalar() == shape.dags, process, pause=0.02)
    # By this clock: the dates of rows are those of decisions, which others see a little later.
    seconds = time.monotonic() - clock
    unsuccessful = ask.execute(_of_dags(f"SELECT count(*) {runs} AND state <> 'success'"), which).scalar()
    if unsuccessful:
        raise GaveUp(f"{unsuccessful} runs of {shape.name} have failed", process)
    created = ask.execute(_of_dags(f"SELECT max(created_at) {runs}"), which).scalar()
    if isinstance(created, str):
        created = datetime.fromisoformat(created).replace(tzinfo=UTC)
    figures.setdefault(name, []).append(seconds)
    figures.setdefault(f"{name} created", []).append((created - began).total_seconds())
    figures.setdefault(f"{name} cpu", []).append(cpu_seconds(process.pid) - cpu)
    ask.execute(_of_dags("UPDATE dag SET is_paused = true WHERE dag_id IN :dags"), which)
    time.sleep(1)
    ask.execute(_of_dags(f"DELETE {runs}"), which)
    # What the next run is was worked out when this one was made: put back what was there.
    columns = ("", "_create_after", "_data_interval_start", "_data_interval_end")
    values = ", ".join(f"next_dagrun{column} = '2024-01-01 00:00:00'" for column in columns)
    ask.execute(_of_dags(f"UPDATE dag SET {values} WHERE dag_id IN :dags"), which)


def _of_dags(statement: str) -> TextClause:
    return text(statement).bindparams(bindparam("dags", expanding=True))


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _print(options, figures: dict[str, Figures]) -> None:
    columns = [side for name, side in figures.items() if name != "memory"]
    names = "".join(f"{name:>16}" for name in figures if name != "memory")
    print(f"{f'median of {options.repeat} or more':<44}{names}{'ratio':>10}")
    measured = [(shape, shape.name, "") for shape in shapes(options.quick)[1:]]
    measured += [
        (shape, "history", f", {options.history} runs before") for shape, name, _ in measured if name == FIRST
    ]
    for shape, name, more in measured:
        seconds = [_median(side, name) for side in columns]
        rates = [one and shape.instances / one for one in seconds]
        title = f"{shape.label}{more}"
        _line(f"{title}: a second", rates, inverse=True)
        _tell(f"scheduler, {title}", "task instances/s", figures, rates, more_is_better=True)
        _line("    seconds", seconds)
        created = [_median(side, f"{name} created") for side in columns]
        _line("    seconds until the last run is made", created)
        _line("    seconds of CPU", [_median(side, f"{name} cpu") for side in columns])
    sizes = [_median(side, "memory") for side in columns]
    _line("memory of the scheduler and all below, MiB", sizes)
    _tell("scheduler, memory with all below", "MiB", figures, sizes)
    shape, memory = many(options.quick), figures["memory"]
    print(f"\nferroflow with {shape.dags} {shape.title}, all of which run once")
    print(f"    memory of the scheduler before, MiB {memory['before'][0]:>10,.1f}")
    print(f"    memory of the scheduler after, MiB  {memory['after'][0]:>10,.1f}")
    print(f"    seconds                             {memory['many'][0]:>10,.1f}")
    rows.tell(f"scheduler, its own memory with {shape.dags} {shape.title}", "MiB", None, memory["after"][0])


def _tell(
    title: str,
    unit: str,
    figures: dict[str, Figures],
    values: list[float | None],
    more_is_better: bool = False,
) -> None:
    names = [name for name in figures if name != "memory"]
    by_name = dict(zip(names, values, strict=True))
    rows.tell(title, unit, by_name.get("Airflow"), by_name["ferroflow"], more_is_better)
    if (on_sqlite := by_name["on SQLite"]) is not None:
        rows.tell(f"{title}, ours on SQLite", unit, by_name.get("Airflow"), on_sqlite, more_is_better)


def _median(side: Figures, name: str) -> float | None:
    return statistics.median(side[name]) if name in side else None


def _line(title: str, values: list[float | None], inverse: bool = False) -> None:
    cells = "".join("               -" if value is None else f"{value:>16,.2f}" for value in values)
    theirs, ours = [*values, None][:2]
    if inverse:
        theirs, ours = ours, theirs
    print(f"{title:<44}{cells}{f'{theirs / ours:,.1f}x' if theirs and ours else '-':>10}")


if __name__ == "__main__":
    main(sys.argv[1:])
