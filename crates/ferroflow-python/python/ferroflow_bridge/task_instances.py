"""Task instances as weight rules and the mutation hook want them: asked as the official scheduler asks.

Nothing is written here. Rows are read in a session that is rolled back; the caller writes the answers.
"""

from __future__ import annotations

import datetime
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from airflow import settings
from airflow._shared.timezones.timezone import coerce_datetime
from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.utils.types import DagRunTriggeredByType
from sqlalchemy import inspect, select
from sqlalchemy.engine.default import DefaultDialect

from ferroflow_bridge.helper import method

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow.serialization.definitions.dag import SerializedDAG
    from sqlalchemy.orm import Session

# What a hook may change in a row. Whose row it is, how far it got and who works on it are not for hooks.
COLUMNS = (
    "state",
    "max_tries",
    "hostname",
    "unixname",
    "pool",
    "pool_slots",
    "queue",
    "operator",
    "custom_operator_name",
    "executor",
    "external_executor_id",
)

# Deserialized DAGs are large: so many are kept.
MOST_DAGS = 100


@method("task_instances.has_hook")
def has_hook() -> bool:
    """Whether the site changes task instances: `airflow_local_settings` or a policy plugin."""
    hooks = settings.get_policy_plugin_manager().hook
    is_replaced = settings.task_instance_mutation_hook.__module__ != "airflow.settings"
    return is_replaced or bool(hooks.task_instance_mutation_hook.get_hookimpls())


@method("task_instances.shape")
def shape(
    version: str,
    occasion: str,
    run: dict[str, Any],
    added: list[dict[str, Any]],
    there: list[dict[str, Any]],
) -> dict[str, Any]:
    """How instances that come into being are to be, and what is to change in those that are there.

    The occasion says what the official scheduler would be doing: `created` (the instances of a new run, or of
    a changed DAG) or `expanded` (those of a mapped task).
    """
    with reading() as session:
        dag = _dag(session, UUID(version))
        dag_run = run_of(session, dag, UUID(version), run)
        changed = {one["id"]: _changed(session, dag, dag_run, one) for one in there}
        return {
            "there": {key: columns for key, columns in changed.items() if columns},
            "added": [_added(dag, dag_run, UUID(version), occasion, one) for one in added],
        }


def _added(
    dag: SerializedDAG, dag_run: DagRun, version: UUID, occasion: str, one: dict[str, Any]
) -> dict[str, Any]:
    task = dag.get_task(one["task_id"])
    index = one["map_index"]
    if occasion == "created" and getattr(settings.task_instance_mutation_hook, "is_noop", False):
        row = TaskInstance.insert_mapping(
            dag_run.run_id, task, map_index=index, dag_version_id=version, dag_run=dag_run
        )
        return {"priority_weight": _weight(row["priority_weight"], task), "hooked": None}
    instance = TaskInstance(
        task, run_id=dag_run.run_id, map_index=index, state=one["state"], dag_version_id=version
    )
    settings.task_instance_mutation_hook(instance, dag_run=dag_run)
    if occasion == "expanded":
        # Once more, as after the merge into the official scheduler's session.
        instance.refresh_from_task(task, dag_run=dag_run)
    return _columns(instance, task)


def _changed(
    session: Session, dag: SerializedDAG, dag_run: DagRun, one: dict[str, Any]
) -> dict[str, Any] | None:
    instance = session.get(TaskInstance, UUID(one["id"]))
    if instance is None:
        return None
    instance.map_index = one["map_index"]
    settings.task_instance_mutation_hook(instance, dag_run=dag_run)
    history = inspect(instance).attrs
    if any(history[name].history.has_changes() for name in (*COLUMNS, "priority_weight", "executor_config")):
        return _columns(instance, dag.task_dict.get(instance.task_id))
    return None


def _columns(instance: TaskInstance, task: Any) -> dict[str, Any]:
    columns = {name: getattr(instance, name) for name in COLUMNS}
    columns["state"] = columns["state"] and str(getattr(columns["state"], "value", columns["state"]))
    # Of no database in particular: their drivers wrap bytes, each in its own way.
    pickle = TaskInstance.executor_config.type.bind_processor(DefaultDialect())
    columns["executor_config"] = list(pickle(instance.executor_config))
    return {"priority_weight": _weight(instance.priority_weight, task), "hooked": columns}


def _weight(weight: Any, task: Any) -> int:
    if isinstance(weight, bool) or not isinstance(weight, int):
        rule = type(task.weight_rule).__qualname__ if task is not None else "the hook"
        raise TypeError(f"the weight by {rule} is {weight!r}, which is no whole number")
    return weight


def run_of(session: Session, dag: SerializedDAG | None, version: UUID, run: dict[str, Any]) -> DagRun:
    """The run: that of the database, unless it is yet to be made."""
    new = run.get("new")
    if new is None:
        found = session.scalar(
            select(DagRun).where(DagRun.dag_id == run["dag_id"], DagRun.run_id == run["run_id"])
        )
        if found is None:
            raise LookupError(f"there is no run {run['run_id']} of {run['dag_id']}")
        found.dag = dag
        return found
    interval = new["data_interval"]
    made = DagRun(
        dag_id=run["dag_id"],
        run_id=run["run_id"],
        logical_date=_time(new["logical_date"]),
        run_after=_time(new["run_after"]),
        start_date=_time(new["start_date"]),
        conf=new["conf"],
        state=new["state"],
        run_type=new["run_type"],
        creating_job_id=new["creating_job_id"],
        data_interval=interval and (_time(interval[0]), _time(interval[1])),
        triggered_by=DagRunTriggeredByType[new["triggered_by"]],
        triggering_user_name=new["triggering_user_name"],
        backfill_id=new["backfill_id"],
        bundle_version=new["bundle_version"],
        partition_key=new["partition_key"],
        partition_date=_time(new["partition_date"]),
    )
    made.created_dag_version_id = version
    made.context_carrier = new["context_carrier"]
    if dag is not None:
        made.dag = dag
    return made


def _dag(session: Session, version: UUID) -> SerializedDAG:
    row = select(SerializedDagModel.dag_hash).where(SerializedDagModel.dag_version_id == version)
    return _decoded(version, session.scalar(row))


@lru_cache(maxsize=MOST_DAGS)
def _decoded(version: UUID, dag_hash: str | None) -> SerializedDAG:
    """A version may be rewritten, which its hash tells."""
    with reading() as session:
        row = select(SerializedDagModel).where(SerializedDagModel.dag_version_id == version)
        stored = session.scalar(row)
        if stored is None:
            raise LookupError(f"version {version} of a DAG is not stored any more")
        return stored.dag


@contextmanager
def reading() -> Iterator[Session]:
    session = settings.NonScopedSession()
    try:
        with session.no_autoflush:
            yield session
    finally:
        session.rollback()
        session.close()


def _time(text: str | None) -> Any:
    return coerce_datetime(text and datetime.datetime.fromisoformat(text))
