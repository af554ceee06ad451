"""Both halves of `bench/scheduler`: the official scheduler works through the DAGs, then ours.

    python airflow_scheduler.py PROGRAM [--repeat N] [--json FILE] [--quick] [--history N]

Run by the virtualenv's Python, on the PostgreSQL of FERROFLOW_TEST_POSTGRES. Each side has a database of its
own, made by official Airflow, with the same files, stored by the official DAG processor. DAGs are due from
the moment that they are not paused any more; a measurement begins there, and ends with the last run.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg2
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
from scheduler_shapes import Shape, shapes

Figures = dict[str, list[float]]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--history", type=int, default=0, help="finished runs in the tables, ten tasks each")
    options = parser.parse_args(arguments)
    commands = {"Airflow": [str(AIRFLOW), "scheduler"], "ferroflow": [options.program, "scheduler"]}
    commands["ferroflow"][0] = str(Path(options.program).resolve())
    adopt_orphans()
    all_shapes = shapes(options.quick)
    figures: dict[str, Figures] = {name: {} for name in commands}
    for name, command in commands.items():
        _measure(name, command, all_shapes, options, figures[name])
        if options.json:
            options.json.write_text(json.dumps(figures, indent=1) + "\n")
    _print(all_shapes, options, figures)


def _measure(name: str, command: list[str], all_shapes: list[Shape], options, figures: Figures) -> None:
    with tempfile.TemporaryDirectory() as temporary, fresh_database() as database:
        home = Path(temporary)
        (home / "dags").mkdir()
        for shape in all_shapes:
            shape.write(home)
        environment = airflow_environment(home, database)
        migrate(environment)
        parse = [str(AIRFLOW), "dag-processor", "--num-runs", "1"]
        subprocess.run(parse, env=environment, cwd=home, check=True, capture_output=True)
        with _asking(database) as ask:
            if options.history:
                _say(f"adding {options.history} finished runs")
                add_history(ask, options.history)
            with running(command, environment, home) as process:
                for shape in all_shapes:
                    for turn in range(options.repeat):
                        _say(f"{name}: {shape.title}, {turn + 1} of {options.repeat}")
                        _once(ask, shape, process, figures)
                time.sleep(3)
                figures.setdefault("memory", []).append(memory_mib(process.pid))


def _once(ask, shape: Shape, process: subprocess.Popen, figures: Figures) -> None:
    """One measurement. Afterwards the runs are gone, and the DAGs are paused, as before."""
    cpu = cpu_seconds(process.pid)
    pattern = f"{shape.name}\\_%"
    ask.execute(
        "UPDATE dag SET is_paused = false WHERE dag_id LIKE %s RETURNING clock_timestamp()", (pattern,)
    )
    began, clock = ask.fetchone()[0], time.monotonic()
    wait_for(lambda: _ended(ask, pattern) == shape.dags, process, pause=0.02)
    # By this clock: the dates of rows are those of decisions, which others see a little later.
    seconds = time.monotonic() - clock
    ask.execute(
        "SELECT max(created_at), count(*) FILTER (WHERE state <> 'success') FROM dag_run "
        "WHERE dag_id LIKE %s",
        (pattern,),
    )
    created, unsuccessful = ask.fetchone()
    if unsuccessful:
        raise GaveUp(f"{unsuccessful} runs of {shape.name} have failed", process)
    figures.setdefault(shape.name, []).append(seconds)
    figures.setdefault(f"{shape.name} created", []).append((created - began).total_seconds())
    figures.setdefault(f"{shape.name} cpu", []).append(cpu_seconds(process.pid) - cpu)
    ask.execute("UPDATE dag SET is_paused = true WHERE dag_id LIKE %s", (pattern,))
    time.sleep(1)
    ask.execute("DELETE FROM dag_run WHERE dag_id LIKE %s", (pattern,))
    # What the next run is was worked out when this one was made: put back what was there.
    columns = ("", "_create_after", "_data_interval_start", "_data_interval_end")
    values = ", ".join(f"next_dagrun{column} = '2024-01-01+00'" for column in columns)
    ask.execute(f"UPDATE dag SET {values} WHERE dag_id LIKE %s", (pattern,))


def _ended(ask, pattern: str) -> int:
    ask.execute("SELECT count(*) FROM dag_run WHERE dag_id LIKE %s AND end_date IS NOT NULL", (pattern,))
    return ask.fetchone()[0]


@contextmanager
def _asking(database: str) -> Iterator:
    connection = psycopg2.connect(database)
    connection.autocommit = True
    try:
        yield connection.cursor()
    finally:
        connection.close()


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _print(all_shapes: list[Shape], options, figures: dict[str, Figures]) -> None:
    print(
        f"{'PostgreSQL, median of ' + str(options.repeat):<44}{'Airflow':>16}{'ferroflow':>16}{'ratio':>10}"
    )
    for shape in all_shapes[1:]:
        seconds = [statistics.median(side[shape.name]) for side in figures.values()]
        rates = [shape.instances / one for one in seconds]
        _line(f"{shape.dags} x {shape.title}: instances a second", rates, rates[1] / rates[0])
        _line("    seconds", seconds, seconds[0] / seconds[1])
        created = [statistics.median(side[f"{shape.name} created"]) for side in figures.values()]
        _line("    seconds until the last run is made", created, created[0] / created[1])
        cpu = [statistics.median(side[f"{shape.name} cpu"]) for side in figures.values()]
        _line("    seconds of CPU", cpu, cpu[0] / cpu[1] if cpu[1] else None)
    memory = [statistics.median(side["memory"]) for side in figures.values()]
    _line("memory of the scheduler, MiB", memory, memory[0] / memory[1])


def _line(title: str, values: list[float], ratio: float | None) -> None:
    cells = "".join(f"{value:>16,.2f}" for value in values)
    print(f"{title:<44}{cells}{'-' if ratio is None else f'{ratio:,.1f}x':>10}")


if __name__ == "__main__":
    main(sys.argv[1:])
