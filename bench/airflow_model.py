"""Official Airflow's half of `bench/model`: makes the cases, measures itself, asks our program.

    python airflow_model.py PROGRAM

Run by the virtualenv's Python. Prints a table of both and their ratio.
"""

import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from datetime import datetime, timedelta, timezone
from pathlib import Path
from unittest import mock

import rows

TASKS = 10_000
LONG_ENOUGH = 3.0
EXPRESSIONS = (
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "30 2 * * *",
    "0 0 * * *",
    "0 6 * * MON-FRI",
    "0 0 1 * *",
    "0 0 1 */3 *",
    "15 8-18/2 * * 1-5",
    "0 22 * * fri#2",
    "0 4 l * *",
    "0 0 13 * 5",
    "0 0 29 2 *",
)
ZONES = ("UTC", "America/New_York", "Europe/London", "Asia/Kolkata")


def main(program: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["AIRFLOW_HOME"] = home
        os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
        document = Path(home) / "dag.json"
        document.write_text(_dag())
        crons, timetables = _crons(), _timetables()
        theirs = _measure(crons, timetables, document.read_text())
        cases = {"crons": crons, "timetables": timetables, "dag": str(document)}
        answer = subprocess.run(
            [program, "model"], input=json.dumps(cases).encode(), stdout=subprocess.PIPE, check=True
        )
        _print(theirs, json.loads(answer.stdout), document.stat().st_size)


def _crons() -> list[dict]:
    chance = random.Random(3)
    starts = [datetime(2015, 1, 1) + timedelta(minutes=chance.randrange(10**7)) for _ in range(20)]
    return [{"expression": text, "start": start.isoformat()} for text in EXPRESSIONS for start in starts]


def _timetables() -> list[dict]:
    chance = random.Random(4)
    cases = []
    for text in EXPRESSIONS:
        for zone in ZONES:
            for kind in ("interval.CronDataIntervalTimetable", "trigger.CronTriggerTimetable"):
                now = datetime(2015, 1, 1, tzinfo=timezone.utc) + timedelta(minutes=chance.randrange(10**7))
                fields = {"expression": text, "timezone": zone}
                if kind.startswith("trigger"):
                    fields |= {"interval": 0.0, "run_immediately": False}
                timetable = {"__type": f"airflow.timetables.{kind}", "__var": fields}
                earliest = now - timedelta(days=1000)
                cases.append(
                    {"timetable": timetable, "earliest": earliest.isoformat(), "now": now.isoformat()}
                )
    return cases


def _dag() -> str:
    """A hundred layers of a hundred tasks, each before one or two of the next layer."""
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.sdk import DAG
    from airflow.serialization.serialized_objects import DagSerialization

    arguments = {"owner": "team", "retries": 2, "execution_timeout": timedelta(minutes=5)}
    with DAG("large", schedule="@daily", start_date=datetime(2024, 1, 1), default_args=arguments) as dag:
        tasks = [
            BashOperator(task_id=f"task_{n:05}", bash_command=f"echo {n} && sleep 1", pool=f"pool_{n % 3}")
            for n in range(TASKS)
        ]
        for n, task in enumerate(tasks):
            if n + 100 < TASKS:
                task >> tasks[n + 100]
            if n % 100 != 99 and n + 101 < TASKS:
                task >> tasks[n + 101]
    return DagSerialization.to_json(dag)


def _measure(crons: list[dict], timetables: list[dict], document: str) -> dict:
    from croniter import croniter

    starts = [(case["expression"], datetime.fromisoformat(case["start"])) for case in crons]
    prepared = [croniter(text, start) for text, start in starts]
    return {
        "cron_parse_and_next": _per_second(starts, lambda case: croniter(*case).get_next(datetime)),
        "cron_next": _per_second(
            list(zip(prepared, starts, strict=True)), lambda case: case[0].get_next(datetime, case[1][1])
        ),
        "timetable_with_catchup": _timetables_per_second(timetables, catchup=True),
        "timetable_without_catchup": _timetables_per_second(timetables, catchup=False),
        "decode": _decode(document),
    }


def _timetables_per_second(cases: list[dict], *, catchup: bool) -> float:
    import pendulum
    from airflow.serialization.decoders import decode_timetable
    from airflow.timetables.base import TimeRestriction

    class Case:
        def __init__(self, case: dict):
            self.timetable = decode_timetable(case["timetable"])
            self.now = pendulum.parse(case["now"])
            self.restriction = TimeRestriction(pendulum.parse(case["earliest"]), None, catchup)

    current = {}
    frozen = lambda: current["now"]  # noqa: E731

    def ask(case: Case) -> None:
        current["now"] = case.now
        case.timetable.next_dagrun_info_v2(last_dagrun_info=None, restriction=case.restriction)

    with (
        mock.patch("airflow.timetables.interval.utcnow", frozen),
        mock.patch("airflow.timetables.trigger.utcnow", frozen),
    ):
        return _per_second([Case(case) for case in cases], ask)


def _per_second(cases: list, ask) -> float:
    asked, started = 0, time.perf_counter()
    while time.perf_counter() - started < LONG_ENOUGH:
        for case in cases:
            ask(case)
        asked += len(cases)
    return asked / (time.perf_counter() - started)


def _decode(document: str) -> dict:
    from airflow.serialization.serialized_objects import DagSerialization

    def decode():
        return DagSerialization.from_dict(json.loads(document))

    best = float("inf")
    for _ in range(3):
        gc.collect()
        started = time.perf_counter()
        dag = decode()
        best = min(best, time.perf_counter() - started)
        del dag
    gc.collect()
    tracemalloc.start()
    dag = decode()
    gc.collect()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"seconds": best, "held_bytes": held, "peak_bytes": peak, "tasks": len(dag.tasks)}


def _print(theirs: dict, ours: dict, size: int) -> None:
    rates = {
        "cron: parse and find the next time": "cron_parse_and_next",
        "cron: find the next time": "cron_next",
        "timetable: next run, with catchup": "timetable_with_catchup",
        "timetable: next run, without catchup": "timetable_without_catchup",
    }
    print(f"{'evaluations per second':<44}{'Airflow':>14}{'ferroflow':>16}{'ratio':>10}")
    for title, key in rates.items():
        print(f"{title:<44}{theirs[key]:>14,.0f}{ours[key]:>16,.0f}{ours[key] / theirs[key]:>9,.0f}x")
        rows.tell(title, "a second", theirs[key], ours[key], more_is_better=True)
    print()
    title = f"a DAG of {TASKS:,} tasks ({size / 1e6:.1f} MB)"
    print(f"{title:<44}{'Airflow':>14}{'ferroflow':>16}{'ratio':>10}")
    for title, key, unit, scale in (
        ("decoding", "seconds", "ms", 1e3),
        ("memory held", "held_bytes", "MB", 1e-6),
        ("memory at the peak", "peak_bytes", "MB", 1e-6),
    ):
        their, our = theirs["decode"][key], ours["decode"][key]
        rows.tell(f"a DAG of {TASKS:,} tasks: {title}", unit, their * scale, our * scale)
        row = f"{title:<44}{their * scale:>11,.1f} {unit}{our * scale:>13,.1f} {unit}"
        print(f"{row}{their / our:>9,.0f}x")
    print(f"bytes held per task: {ours['decode']['held_bytes'] / ours['decode']['tasks']:,.0f}")


if __name__ == "__main__":
    main(sys.argv[1])
