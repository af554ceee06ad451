"""Official Airflow's half of `bench/scheduling`: makes the cases, measures itself, asks our program.

    python airflow_scheduling.py PROGRAM

Run by the virtualenv's Python, with SQLite in a folder that is thrown away. Prints a table of both. Airflow
is asked about runs of a thousand instances: its time grows faster than their number, and ten thousand take
minutes.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path

import rows

SMALL, LARGE = 1_000, 10_000
DATE = datetime(2024, 1, 1, tzinfo=timezone.utc)


def main(program: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["AIRFLOW_HOME"] = home
        os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
        os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "ERROR"
        theirs, cases = [], []
        for name, shape in SHAPES.items():
            print(f"Airflow decides {name} of {SMALL:,} instances", file=sys.stderr)
            dag, succeeded = _make(f"{name.replace(' ', '_')}_{SMALL}", shape, SMALL)
            theirs.append(_measure(dag, succeeded))
            cases.append(_case(Path(home), dag, succeeded))
            cases.append(_case(Path(home), *_make(f"{name.replace(' ', '_')}_{LARGE}", shape, LARGE)))
        print("asking ferroflow", file=sys.stderr)
        answer = subprocess.run(
            [program, "scheduling"], input=json.dumps(cases).encode(), stdout=subprocess.PIPE, check=True
        )
        ours = json.loads(answer.stdout)
        _print(theirs, ours[::2], ours[1::2])


def _chain(task: Callable, size: int) -> set[str]:
    """One after the other; half of them have succeeded."""
    tasks = [task(n) for n in range(size)]
    for before, after in pairwise(tasks):
        before >> after
    return {one.task_id for one in tasks[: size // 2]}


def _fan(task: Callable, size: int) -> set[str]:
    """One, then all but two, then one; the first has succeeded."""
    first, *middle, last = (task(n) for n in range(size))
    first >> middle >> last
    return {first.task_id}


def _grid(task: Callable, size: int) -> set[str]:
    """Layers, each task before three of the next; half of the layers have succeeded."""
    tasks = [task(n) for n in range(size)]
    width = 100 if size == LARGE else 20
    for n in range(size - width):
        layer, column = divmod(n, width)
        for neighbour in (column - 1, column, column + 1):
            tasks[n] >> tasks[(layer + 1) * width + neighbour % width]
    return {one.task_id for one in tasks[: size // 2]}


def _mapped(task: Callable, size: int) -> set[str]:
    """One before a task with many instances, before one; the first has succeeded."""
    from airflow.providers.standard.operators.bash import BashOperator

    first, last = task(0), task(1)
    many = BashOperator.partial(task_id="many").expand(bash_command=["true"] * (size - 2))
    first >> many >> last
    return {first.task_id}


SHAPES = {"a chain": _chain, "a wide fan": _fan, "a grid": _grid, "mapped instances": _mapped}


def _make(dag_id: str, shape: Callable, size: int) -> tuple:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.sdk import DAG

    with DAG(dag_id, schedule=None, start_date=DATE) as dag:
        succeeded = shape(lambda n: BashOperator(task_id=f"task_{n:05}", bash_command="true"), size)
    return dag, succeeded


def _case(home: Path, dag, succeeded: set[str]) -> dict:
    from airflow.serialization.serialized_objects import DagSerialization

    document = home / f"{dag.dag_id}.json"
    document.write_text(DagSerialization.to_json(dag))
    instances = []
    for task in dag.tasks:
        state = "success" if task.task_id in succeeded else None
        length = len(task.expand_input.value["bash_command"]) if task.is_mapped else None
        indexes = range(length) if length else (-1,)
        instances += [[task.task_id, index, state] for index in indexes]
    return {"dag": str(document), "instances": instances}


def _measure(dag, succeeded: set[str]) -> dict:
    """Stores the DAG and a run of it, and measures one examination."""
    from airflow.models.dag import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.models.taskinstance import TaskInstance
    from airflow.serialization.serialized_objects import DagSerialization, LazyDeserializedDAG
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType
    from sqlalchemy import update

    with create_session() as session:
        initdb(session=session)
        session.merge(DagBundleModel(name="bench"))
        session.flush()
        session.merge(DagModel(dag_id=dag.dag_id, bundle_name="bench"))
        session.flush()
        SerializedDagModel.write_dag(LazyDeserializedDAG.from_dag(dag), bundle_name="bench", session=session)
        session.commit()
        serialized = DagSerialization.from_json(DagSerialization.to_json(dag))
        run = serialized.create_dagrun(
            run_id="bench",
            logical_date=DATE,
            data_interval=(DATE, DATE),
            run_after=DATE,
            run_type=DagRunType.MANUAL,
            triggered_by=DagRunTriggeredByType.TEST,
            state=DagRunState.RUNNING,
            session=session,
        )
        session.commit()
        of_run = (TaskInstance.dag_id == dag.dag_id, TaskInstance.run_id == run.run_id)
        session.execute(
            update(TaskInstance)
            .where(*of_run, TaskInstance.task_id.in_(succeeded))
            .values(state="success", start_date=DATE, end_date=DATE)
        )
        session.commit()
        session.expunge_all()
        run = session.merge(run)
        run.dag = serialized
        started = time.perf_counter()
        ready, _ = run.update_state(session=session, execute_callbacks=False)
        seconds = time.perf_counter() - started
        number = len(run.get_task_instances(session=session))
        session.rollback()
    return {"instances": number, "changed": len(ready), "seconds": seconds}


def _print(theirs: list[dict], small: list[dict], large: list[dict]) -> None:
    columns = f"{'Airflow':>12}{'ferroflow':>14}{'ratio':>12}{f'with {LARGE:,}':>16}"
    print(f"{f'instances decided per second, of {SMALL:,}':<42}{columns}")
    for name, their, our, ours in zip(SHAPES, theirs, small, large, strict=True):
        if (their["instances"], their["changed"]) != (our["instances"], our["changed"]):
            sys.exit(f"{name}: Airflow decides {their}, ferroflow {our}")
        rates = [case["instances"] / case["seconds"] for case in (their, our, ours)]
        title = f"{name}, {their['changed']:,} ready"
        ratio = rates[1] / rates[0]
        rows.tell(
            f"{SMALL:,} instances, {title}: decided", "a second", rates[0], rates[1], more_is_better=True
        )
        print(f"{title:<42}{rates[0]:>12,.0f}{rates[1]:>14,.0f}{ratio:>11,.0f}x{rates[2]:>16,.0f}")
    print()
    columns += f"{'at most':>12}"
    print(f"{'deciding after one has finished':<42}{columns}")
    for name, their, our, ours in zip(SHAPES, theirs, small, large, strict=True):
        micros = [case["mean_seconds_after_one"] * 1e6 for case in (our, ours)]
        row = f"{name:<42}{their['seconds'] * 1e3:>9,.0f} ms{micros[0]:>11,.2f} µs"
        ratio = their["seconds"] * 1e6 / micros[0]
        worst = ours["worst_seconds_after_one"] * 1e6
        print(f"{row}{ratio:>11,.0f}x{micros[1]:>13,.2f} µs{worst:>9,.0f} µs")


if __name__ == "__main__":
    main(sys.argv[1])
