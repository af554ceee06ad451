"""Listeners of plugins hear what a scheduler has done, after it is committed.

They get the objects that the official scheduler hands them, read from the database. What a listener changes
in them is not stored; what it stores itself is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from airflow import plugins_manager
from airflow.jobs.job import Job
from airflow.listeners.listener import get_listener_manager
from airflow.models.dagbag import DBDagBag
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.utils.state import TaskInstanceState
from sqlalchemy import select
from sqlalchemy.orm.attributes import set_committed_value

from ferroflow_bridge.helper import method
from ferroflow_bridge.task_instances import reading

HOOKS = (
    "on_starting",
    "before_stopping",
    "on_dag_run_running",
    "on_dag_run_success",
    "on_dag_run_failed",
    "on_task_instance_failed",
)


@method("scheduler_listener.hears")
def hears() -> list[str]:
    """The hooks that a listener implements."""
    return [name for name in HOOKS if getattr(_listeners().hook, name).get_hookimpls()]


@method("scheduler_listener.on_starting")
def on_starting(job_id: int) -> None:
    with reading() as session:
        _listeners().hook.on_starting(component=session.get(Job, job_id))


@method("scheduler_listener.before_stopping")
def before_stopping(job_id: int) -> None:
    with reading() as session:
        _listeners().hook.before_stopping(component=session.get(Job, job_id))


@method("scheduler_listener.on_dag_run_running")
def on_dag_run_running(dag_id: str, run_id: str, msg: str) -> None:
    with reading() as session:
        run = _run(session, dag_id, run_id, "running")
        # It may have ended meanwhile.
        set_committed_value(run, "end_date", None)
        _listeners().hook.on_dag_run_running(dag_run=run, msg=msg)


@method("scheduler_listener.on_dag_run_success")
def on_dag_run_success(dag_id: str, run_id: str, msg: str) -> None:
    with reading() as session:
        _listeners().hook.on_dag_run_success(dag_run=_run(session, dag_id, run_id, "success"), msg=msg)


@method("scheduler_listener.on_dag_run_failed")
def on_dag_run_failed(dag_id: str, run_id: str, msg: str) -> None:
    with reading() as session:
        _listeners().hook.on_dag_run_failed(dag_run=_run(session, dag_id, run_id, "failed"), msg=msg)


@method("scheduler_listener.on_task_instance_failed")
def on_task_instance_failed(dag_id: str, run_id: str, task_id: str, map_index: int, error: str) -> None:
    with reading() as session:
        of = {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "map_index": map_index}
        instance = session.scalar(select(TaskInstance).filter_by(**of))
        if instance is None:
            raise LookupError(f"there is no task instance {of} any more")
        dag = _dag_bag().get_dag_for_run(dag_run=instance.dag_run, session=session)
        instance.task = dag and dag.task_dict.get(task_id)
        _listeners().hook.on_task_instance_failed(
            previous_state=TaskInstanceState.RUNNING, task_instance=instance, error=error
        )


def _run(session: Any, dag_id: str, run_id: str, state: str) -> DagRun:
    run = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    if run is None:
        raise LookupError(f"there is no run {run_id} of {dag_id} any more")
    # As it was when it happened.
    set_committed_value(run, "_state", state)
    run.dag = _dag_bag().get_dag_for_run(dag_run=run, session=session)
    return run


@cache
def _listeners() -> Any:
    plugins_manager.ensure_plugins_loaded()
    return get_listener_manager()


@cache
def _dag_bag() -> DBDagBag:
    return DBDagBag()
