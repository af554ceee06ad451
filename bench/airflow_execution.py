"""Both halves of `bench/execution`: official Airflow runs the DAGs, then ours, without and with templates,
and with several tasks per process.

    python airflow_execution.py PROGRAM [--repeat N] [--json FILE] [--quick] [--ours]

Run by the virtualenv's Python, on the PostgreSQL of FERROFLOW_TEST_POSTGRES. Each has a database and a folder
of its own, with the same files, and Airflow's default configuration. Prints a table; the figures behind it go
to the file. PostgreSQL counts for neither, nor does Airflow's DAG processor.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg2
import rows
from execution_dags import Dags, dags
from execution_sides import Official, Ours
from execution_split import STEPS, SUCCESSION, split
from measuring import GaveUp, adopt_orphans, airflow_environment, fresh_database, migrate

SLOTS = 32
TEMPLATES = 8
TASKS_PER_PROCESS = 50

OFFICIAL = "Airflow"
# Those of ours that are rows of the table of everything, and what else is set for them.
WAYS = {
    "ferroflow": "",
    "successive": f" (`task_templates = {TEMPLATES}`, `tasks_per_process = {TASKS_PER_PROCESS}`)",
}

# Of a column.
WIDTH = 14

Figures = dict[str, list[float]]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--ours", action="store_true", help="without official Airflow")
    options = parser.parse_args(arguments)
    repeat = options.repeat or (1 if options.quick else 3)
    program = str(Path(options.program).resolve())
    all_dags = dags(SLOTS, options.quick)
    sides: dict[str, Callable] = {
        OFFICIAL: Official,
        "ferroflow": lambda *place: Ours(*place, program),
        "templates": lambda *place: Ours(*place, program, TEMPLATES),
        "successive": lambda *place: Ours(*place, program, TEMPLATES, TASKS_PER_PROCESS),
    }
    adopt_orphans()
    figures: dict[str, Figures] = {name: {} for name in sides}
    if options.ours:
        del sides[OFFICIAL]
    failures = []
    for name, side in sides.items():
        try:
            _measure(name, side, all_dags, repeat, figures[name])
        except GaveUp as failure:
            # The others are worth knowing.
            failures.append(f"{name}:\n{failure}")
        if options.json:
            options.json.write_text(json.dumps(figures, indent=1) + "\n")
    _print(all_dags, repeat, figures)
    _tell(all_dags, figures)
    if failures:
        sys.exit("\n".join(failures))


def _measure(name: str, make: Callable, all_dags: Dags, repeat: int, figures: Figures) -> None:
    with tempfile.TemporaryDirectory() as temporary, fresh_database() as database:
        home = Path(temporary)
        (home / "dags").mkdir()
        for dag in all_dags:
            dag.write(home)
        environment = airflow_environment(home, database) | {"AIRFLOW__CORE__PARALLELISM": str(SLOTS)}
        migrate(environment)
        connection = psycopg2.connect(database)
        connection.autocommit = True
        ask = connection.cursor()
        side = make(ask, environment, home)
        try:
            with side.ready(all_dags):
                for key, figure in _figures(name, side, all_dags, repeat, home, ask):
                    figures.setdefault(key, []).append(figure)
        finally:
            connection.close()


def _figures(name: str, side, all_dags: Dags, repeat: int, home: Path, ask) -> Iterator[tuple[str, float]]:
    for key, dag in _timed(all_dags).items():
        for turn in range(repeat):
            _say(f"{name}: {dag.dag_id}, {dag.tasks} tasks, {turn + 1} of {repeat}")
            with side.run(dag) as run:
                pass
            yield f"{key} seconds", run.seconds
            yield f"{key} since trigger", run.since_trigger
            yield f"{key} cpu", run.cpu_per_task
    _say(f"{name}: where the time of a task goes")
    yield from split(side, all_dags.split, home, ask).items()
    _say(f"{name}: memory")
    for what, memory in {"idle": side.idle(), "busy": side.busy(all_dags)}.items():
        yield f"{what} all", memory["all"]
        yield f"{what} alone", memory["alone"]


def _timed(all_dags: Dags) -> dict:
    return {"short": all_dags.short, "long": all_dags.long, "parallel": all_dags.parallel}


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _print(all_dags: Dags, repeat: int, figures: dict[str, Figures]) -> None:
    titles = _titles(all_dags)
    heading = f"{SLOTS} slots, PostgreSQL, median of {repeat}"
    theirs, *ours = figures
    columns = [f"{theirs:>{WIDTH}}", *(f"{name:>{WIDTH}}{'ratio':>9}" for name in ours)]
    print(f"{heading:<54}{''.join(columns)}")
    for key, title in titles.items():
        _line(f"{title}: the run", f"{key} seconds", "s  ", 1, figures)
    for key, title in titles.items():
        _line(f"{title}: since the trigger", f"{key} since trigger", "s  ", 1, figures)
    for key, title in titles.items():
        _line(f"{title}: CPU per task", f"{key} cpu", "ms ", 1000, figures)
    for what in ("idle", "busy"):
        _line(f"memory, {SLOTS} slots {what}", f"{what} all", "MiB", 1, figures)
        _line(f"memory, {SLOTS} slots {what}, without the API server", f"{what} alone", "MiB", 1, figures)
    print(f"\none task, median of {all_dags.split.tasks} in a chain")
    for step in STEPS:
        _line(step, step, "ms ", 1000, figures)


def _line(title: str, key: str, unit: str, factor: float, figures: dict[str, Figures]) -> None:
    theirs, *others = (_median(side, key, factor) for side in figures.values())
    cells = [_cell(theirs, unit)]
    for ours in others:
        ratio = f"{theirs / ours:,.1f}x" if theirs and ours and ours > 0 else "-"
        cells += [_cell(ours, unit), f"{ratio:>9}"]
    print(f"{title:<54}{''.join(cells)}")


def _tell(all_dags: Dags, figures: dict[str, Figures]) -> None:
    """What stands for the rest in the table of everything."""
    titles = _titles(all_dags)
    told = [(title, f"{key} seconds", "s", 1) for key, title in titles.items()]
    told += [(f"{title}: CPU per task", f"{key} cpu", "ms", 1000) for key, title in titles.items()]
    told += [(f"memory, {SLOTS} slots {what}", f"{what} all", "MiB", 1) for what in ("idle", "busy")]
    told.append((f"one task of a chain: {SUCCESSION}", SUCCESSION, "ms", 1000))
    for title, key, unit, factor in told:
        theirs = _median(figures[OFFICIAL], key, factor)
        for name, settings in WAYS.items():
            rows.tell(f"{title}{settings}", unit, theirs, _median(figures[name], key, factor))


def _titles(all_dags: Dags) -> dict[str, str]:
    short, long, parallel = _timed(all_dags).values()
    return {
        "short": f"chain of {short.tasks} fibo({short.n})",
        "long": f"chain of {long.tasks} fibo({long.n})",
        "parallel": f"{parallel.tasks} parallel BashOperator",
    }


def _median(side: Figures, key: str, factor: float) -> float | None:
    return statistics.median(side[key]) * factor if key in side else None


def _cell(figure: float | None, unit: str) -> str:
    return f"{'-' if figure is None else f'{figure:,.2f} {unit}':>{WIDTH}}"


if __name__ == "__main__":
    main(sys.argv[1:])
