"""The installed Airflow with a database of its own, a clock that we turn, and a fixed order of checks."""

import datetime
import logging
import os
import tempfile
from types import SimpleNamespace
from typing import ClassVar

# Removed when this process ends.
HOME = tempfile.TemporaryDirectory()
BUNDLE = "histories"
UTC = datetime.timezone.utc
# In Airflow itself the order is that of a set, and differs between processes.
ORDER = (
    "TriggerRuleDep",
    "MappedTaskUpstreamDep",
    "NotPreviouslySkippedDep",
    "PrevDagrunDep",
    "NotInRetryPeriodDep",
    "ReadyToRescheduleDep",
)


class Clock:
    now = datetime.datetime(2024, 6, 1, tzinfo=UTC)


class Conflicts:
    """Where two checks tried to set different states of one instance in one evaluation."""

    found: ClassVar[list] = []
    attempts: ClassVar[list | None] = None


def prepare() -> SimpleNamespace:
    """Import Airflow with nothing configured; answer a session and a scheduler."""
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    os.environ["AIRFLOW_HOME"] = HOME.name
    os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "false"
    os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "CRITICAL"
    os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = f"sqlite:///{HOME.name}/histories.db"
    os.environ["AIRFLOW__CORE__DAGS_FOLDER"] = "/dags"
    from airflow import settings

    settings.initialize()
    logging.disable(logging.CRITICAL)
    _turn_our_clock()
    _pin_the_order()
    _forget_sources()
    session = _database(settings)
    return SimpleNamespace(session=session, scheduler=_scheduler(session))


def _turn_our_clock() -> None:
    import pendulum
    from airflow._shared.timezones import timezone

    timezone.utcnow = lambda: Clock.now.astimezone(pendulum.UTC)


def _pin_the_order() -> None:
    from airflow.models.taskinstance import TaskInstance

    def get_failed_dep_statuses(self, dep_context=None, *, session):
        deps = {type(dep).__name__: dep for dep in dep_context.deps | self.task.deps}
        unknown = deps.keys() - set(ORDER)
        if unknown:
            raise AssertionError(f"checks of unknown place: {unknown}")
        Conflicts.attempts = []
        failed = [
            status
            for name in ORDER
            if name in deps
            for status in deps[name].get_dep_statuses(self, dep_context, session=session)
            if not status.passed
        ]
        if len(set(Conflicts.attempts)) > 1:
            key = [self.run_id, self.task_id, self.map_index]
            Conflicts.found.append([*key, list(Conflicts.attempts)])
        Conflicts.attempts = None
        return failed

    set_state = TaskInstance.set_state

    def noted(self, state, *, session):
        if Conflicts.attempts is not None:
            Conflicts.attempts.append(str(state))
        return set_state(self, state, session=session)

    TaskInstance.get_failed_dep_statuses = get_failed_dep_statuses
    TaskInstance.set_state = noted


def _forget_sources() -> None:
    from airflow.models.dagcode import DagCode

    DagCode.get_code_from_file = staticmethod(lambda fileloc: "none")


def _database(settings):
    """One session, in which nothing is ever committed: a history ends with a rollback."""
    from airflow.models import import_all_models
    from airflow.models.base import Base
    from airflow.models.dagbundle import DagBundleModel
    from airflow.models.tasklog import LogTemplate
    from sqlalchemy import event

    @event.listens_for(settings.engine, "connect")
    def hurry(connection, _):
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA journal_mode=MEMORY")

    settings.engine.dispose()
    import_all_models()
    Base.metadata.create_all(settings.engine)
    session = settings.Session()
    session.add(DagBundleModel(name=BUNDLE))
    session.add(LogTemplate(filename="none", elasticsearch_id="none"))
    session.commit()
    session.commit = session.flush
    session.forget = session.rollback

    def refuse():
        raise AssertionError("Airflow gave up something that it had begun")

    session.rollback = refuse
    return session


def _scheduler(session):
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner

    job = Job()
    job.max_tis_per_query = 16
    return SchedulerJobRunner(job=job, executors=[])


def store(air: SimpleNamespace, dag) -> tuple:
    """Store a DAG of the SDK as the DAG processor would; answer the scheduler's DAG and the document."""
    from airflow.models.dag import DagModel
    from airflow.models.dagbag import DBDagBag
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.serialization.serialized_objects import LazyDeserializedDAG

    lazy = LazyDeserializedDAG.from_dag(dag)
    if air.session.get(DagModel, dag.dag_id) is None:
        model = DagModel(
            dag_id=dag.dag_id,
            bundle_name=BUNDLE,
            fileloc=dag.fileloc,
            relative_fileloc=dag.relative_fileloc,
            max_active_tasks=16,
            max_active_runs=16,
            max_consecutive_failed_dag_runs=0,
            has_task_concurrency_limits=False,
            is_paused=False,
            is_stale=False,
            fail_fast=dag.fail_fast,
        )
        air.session.add(model)
        air.session.flush()
    SerializedDagModel.write_dag(lazy, bundle_name=BUNDLE, session=air.session)
    air.session.flush()
    air.scheduler.scheduler_dag_bag = DBDagBag(load_op_links=False)
    stored = SerializedDagModel.get(dag.dag_id, session=air.session)
    return stored.dag, stored.data
