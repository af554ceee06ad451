"""Imports and caches what nearly every child needs, without touching user code or plugins."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import signal
import sys
import tempfile
from pathlib import Path

from ferroflow_bridge import child

# A function that was called about ten times has its fastest form; most are called several times a round.
_ROUNDS = 3

_SYNTHETIC_DAG = """
from datetime import datetime, timedelta

from airflow.sdk import DAG, Asset, BaseOperator, Connection, Param, TaskGroup, Variable, dag, task
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import PythonOperator


def nothing():
    pass


with DAG(
    "ferroflow_warm_up",
    description="never stored",
    schedule=timedelta(days=1),
    start_date=datetime(2024, 1, 1),
    catchup=False,
    tags=["warm"],
    params={"p": Param(1, type="integer")},
    default_args={"retries": 1, "retry_delay": timedelta(minutes=5)},
    doc_md="warm",
):
    with TaskGroup("group"):
        first = BashOperator(
            task_id="first",
            bash_command="echo {{ ds }}",
            do_xcom_push=False,
            outlets=[Asset("warm://asset")],
        )
        second = PythonOperator(task_id="second", python_callable=nothing)
        third = task(nothing, task_id="third")
        first >> second >> third() >> EmptyOperator(task_id="fourth")


@dag(schedule="0 0 * * *", start_date=datetime(2024, 1, 1), catchup=False)
def ferroflow_warm_up_taskflow():
    @task
    def numbers():
        return [1, 2]

    @task.bash
    def say():
        return "true"

    @task
    def double(number):
        return number * 2

    double.expand(number=numbers()) >> say()


ferroflow_warm_up_taskflow()


@dag(schedule=[Asset("warm://asset")])
def ferroflow_warm_up_asset():
    EmptyOperator(task_id="only")


ferroflow_warm_up_asset()

with DAG("ferroflow_warm_up_unscheduled", schedule=None):
    EmptyOperator(task_id="only")
"""

_SHORT_DAG = """
from airflow.sdk import DAG, task

with DAG("ferroflow_warm_up", schedule=None):
    for number in range(10):
        @task(task_id=f"number_{number}")
        def nothing():
            pass

        nothing()
"""


def load() -> dict:
    """Imports all that children need. What that is is told, for the log."""
    import airflow
    import airflow.sdk

    for module in child.ENTRIES.values():
        if importlib.util.find_spec(module) is not None:
            importlib.import_module(module)
    for module in ("encodings.idna", "stringprep", "setproctitle", "airflow.version"):
        importlib.import_module(module)
    # After the imports, which set up logs of their own, and before anything writes to one.
    child.configure_logs()
    return {"airflow": airflow.__version__, "sdk": airflow.sdk.__version__, "dags": 0, "errors": []}


def try_out() -> dict:
    """Parses a DAG of our own as a child would, and runs its tasks. What that found is told, for the log."""
    _read_entry_points()
    with child.silent_logs():
        return _parse_synthetic_dag()


def _read_entry_points() -> None:
    """Finds which packages offer plugins: that loads none of them, but opens a file of every package."""
    from airflow._shared import module_loading
    from airflow.sdk._shared import module_loading as sdk_module_loading

    for loading in (module_loading, sdk_module_loading):
        for _ in loading.entry_points_with_dist("airflow.plugins"):
            pass


def _parse_synthetic_dag() -> dict:
    from airflow.dag_processing.processor import DagFileParseRequest

    from ferroflow_bridge import parse

    before = set(sys.modules)
    path = list(sys.path)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGSEGV)}
    with tempfile.TemporaryDirectory(prefix="ferroflow-") as folder, _without_plugins(), _by_the_usual_rule():
        file = Path(folder, "warm_up_dag.py")
        file.write_text(_SYNTHETIC_DAG)
        request = DagFileParseRequest(file=os.fspath(file), bundle_path=Path(folder), bundle_name="warm-up")
        for _ in range(_ROUNDS):
            result = parse.parse_file(request)
        problems = _run_synthetic_tasks(file)
    sys.path[:] = path
    for number, handler in handlers.items():
        signal.signal(number, handler)
    for name in set(sys.modules) - before:
        if name.startswith("unusual_prefix_"):
            del sys.modules[name]
    return {"dags": len(result.dags), "errors": [*result.import_errors.values(), *problems]}


def learn_hot_pages() -> None:
    """When nothing more is loaded: finds out what tasks write to."""
    from ferroflow_bridge import hot_pages, synthetic_task

    def run(file: Path) -> None:
        synthetic_task.run_and_leave(file, ["number_0"])

    hot_pages.OF_TASK.learn(_short_dag, run)
    hot_pages.OF_IMPORTED_TASK.learn(_imported_short_dag, run)


@contextlib.contextmanager
def _short_dag():
    """The file of a DAG, in a process that ends with it: it prints nowhere from now on."""
    child.print_nowhere()
    with tempfile.TemporaryDirectory(prefix="ferroflow-") as folder, _without_plugins(), _by_the_usual_rule():
        file = Path(folder, "warm_up_dag.py")
        file.write_text(_SHORT_DAG)
        yield file


@contextlib.contextmanager
def _imported_short_dag():
    from ferroflow_bridge import synthetic_task

    with _short_dag() as file:
        synthetic_task.import_for_all(file)
        yield file


def _run_synthetic_tasks(file: Path) -> list[str]:
    """Only makes tasks faster: a site whose policies forbid them does without. What went wrong is told."""
    try:
        from ferroflow_bridge import synthetic_task, task

        task.warm_up()
        synthetic_task.run(file, ["group.first", "group.second", "group.third"] * _ROUNDS)
    except (Exception, SystemExit) as error:
        return [f"no task could be tried out: {type(error).__name__}: {error}"]
    return []


@contextlib.contextmanager
def _by_the_usual_rule():
    """What a DAG file is may be asked of the site's own function, which is user code."""
    name = "AIRFLOW__CORE__MIGHT_CONTAIN_DAG_CALLABLE"
    before = os.environ.get(name)
    os.environ[name] = "airflow.utils.file.might_contain_dag_via_default_heuristic"
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


@contextlib.contextmanager
def _without_plugins():
    """Plugins are user code, and loaded in the children; that there are none is forgotten again."""
    from airflow import plugins_manager
    from airflow.sdk import plugins_manager as sdk_plugins_manager

    managers = [plugins_manager, sdk_plugins_manager]
    originals = [manager._get_plugins for manager in managers]
    for manager in managers:
        manager._get_plugins = lambda: ([], {})
    try:
        yield
    finally:
        for manager, original in zip(managers, originals, strict=True):
            manager._get_plugins = original
            for function in vars(manager).values():
                if callable(getattr(function, "cache_clear", None)):
                    function.cache_clear()
