"""What the scheduler makes of an executor's events, and of the rest of a run with `fail_fast`."""

from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import product

from airflow.callbacks.callback_requests import CallbackRequest, TaskCallbackRequest
from airflow.executors.base_executor import BaseExecutor
from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
from airflow.models.dag import DagModel
from airflow.models.dag_version import DagVersion
from airflow.models.dagbag import DBDagBag
from airflow.models.dagbundle import DagBundleModel
from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.models.taskinstancehistory import TaskInstanceHistory
from airflow.models.taskinstancekey import TaskInstanceKey
from airflow.sdk import DAG, BaseOperator
from airflow.serialization.definitions.dag import SerializedDAG
from airflow.serialization.serialized_objects import LazyDeserializedDAG
from airflow.utils import db
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, TaskInstanceState
from airflow.utils.types import DagRunTriggeredByType, DagRunType
from sqlalchemy import select
from sqlalchemy.orm import Session

ME, ANOTHER = 1, 2
STATES = [None, *TaskInstanceState]
FINISHED = [TaskInstanceState.SUCCESS, TaskInstanceState.FAILED, TaskInstanceState.RESTARTING]
WHEN = datetime(2026, 1, 1, tzinfo=timezone.utc)
# So many rows at a time: SQLite has limits.
BATCH = 400


class Told:
    """Keeps what would be sent to the DAG processor."""

    def __init__(self) -> None:
        self.by_index: dict[int, list[str]] = {}

    def send(self, request: CallbackRequest) -> None:
        if isinstance(request, TaskCallbackRequest):
            self.by_index.setdefault(request.ti.map_index, []).append(request.task_callback_type.value)


def record() -> dict[str, list[dict]]:
    db.initdb()
    with create_session() as session:
        session.add(DagBundleModel(name="bundle"))
    plain, fast = write_dag("plain", fail_fast=False), write_dag("fast", fail_fast=True)
    found = []
    for name, cases in {"often": product_of_all(), "once": few(), "gone": few()}.items():
        numbered = list(enumerate(cases))
        alone = [[case] for case in numbered if ends_a_restart(case[1])]
        others = [case for case in numbered if not ends_a_restart(case[1])]
        batches = [others[start : start + BATCH] for start in range(0, len(others), BATCH)]
        for number, batch in enumerate(alone + batches):
            found += ask(plain, name, f"{name}_{number}", batch)
    return {"events": found, "fail_fast": fail_fast(fast)}


def product_of_all() -> Iterator[dict]:
    """Every event with every row."""
    names = ("event", "state", "try", "mine", "known", "next_method", "max_tries")
    both = (True, False)
    for values in product(STATES, STATES, (1, 2), both, both, both, (0, 2)):
        yield dict(zip(names, values, strict=True))


def ends_a_restart(case: dict) -> bool:
    """Whether it raises `max_tries`: of several at once, Airflow does so for the first and then forgets."""
    return (case["event"], case["state"]) == (TaskInstanceState.SUCCESS, TaskInstanceState.RESTARTING)


def few() -> Iterator[dict]:
    """Those that say what depends on the task."""
    return (
        case
        for case in product_of_all()
        if case["event"] in FINISHED and case["mine"] and not case["known"] and case["try"] == 1
    )


def write_dag(dag_id: str, *, fail_fast: bool) -> tuple[SerializedDAG, DagVersion]:
    with DAG(dag_id, fail_fast=fail_fast) as dag:
        told = {"on_failure_callback": print, "on_retry_callback": print}
        BaseOperator(task_id="often", retries=3, **told)
        BaseOperator(task_id="once", retries=0, **told)
        BaseOperator(task_id="other")
        BaseOperator(task_id="teardown").as_teardown()
    with create_session() as session:
        session.add(
            DagModel(dag_id=dag_id, bundle_name="bundle", relative_fileloc="a.py", fail_fast=fail_fast)
        )
        session.flush()
        SerializedDagModel.write_dag(LazyDeserializedDAG.from_dag(dag), "bundle", session=session)
    with create_session() as session:
        version = DagVersion.get_latest_version(dag_id, session=session)
        session.expunge(version)
        return LazyDeserializedDAG.from_dag(dag)._real_dag, version


def ask(written: tuple, task_id: str, run_id: str, cases: list[tuple[int, dict]]) -> list[dict]:
    """The cases with what became of each: the state, and what else changed."""
    told = Told()
    executor = BaseExecutor()
    executor.callback_sink = told
    with create_session() as session:
        make_run(session, written, run_id)
        for index, case in cases:
            instance = make_instance(written, task_id, run_id, index, case["state"])
            instance.try_number, instance.max_tries = case["try"], case["max_tries"]
            instance.queued_by_job_id = ME if case["mine"] else ANOTHER
            instance.next_method = "resume" if case["next_method"] else None
            session.add(instance)
            executor.event_buffer[TaskInstanceKey("plain", task_id, run_id, 1, index)] = (case["event"], "id")
            if case["known"]:
                executor.running.add(instance.key)
    with create_session() as session:
        SchedulerJobRunner.process_executor_events(executor, ME, DBDagBag(), session)
    with create_session() as session:
        rows = session.scalars(select(TaskInstance).where(TaskInstance.run_id == run_id))
        by_index = {row.map_index: row for row in rows}
        kept = set(
            session.scalars(select(TaskInstanceHistory.map_index).where(TaskInstanceHistory.run_id == run_id))
        )
        return [
            {"task": task_id}
            | {name: getattr(value, "value", value) for name, value in case.items()}
            | {
                "becomes": by_index[index].state,
                "new_max_tries": by_index[index].max_tries,
                "id": by_index[index].external_executor_id,
                "history": index in kept,
                "told": told.by_index.get(index, []),
            }
            for index, case in cases
        ]


def fail_fast(written: tuple) -> list[dict]:
    """What becomes of the other task instances, in each state, when one fails."""
    run_id = "fast"
    executor = BaseExecutor()
    executor.callback_sink = Told()
    others = list(enumerate(product(("once", "other", "teardown"), STATES)))
    with create_session() as session:
        make_run(session, written, run_id)
        for index, (task_id, state) in others:
            session.add(make_instance(written, task_id, run_id, index, state))
        failing = make_instance(written, "once", run_id, len(others), TaskInstanceState.RUNNING)
        failing.try_number, failing.queued_by_job_id = 1, ME
        session.add(failing)
        executor.event_buffer[failing.key] = (TaskInstanceState.FAILED, None)
    with create_session() as session:
        SchedulerJobRunner.process_executor_events(executor, ME, DBDagBag(), session)
    with create_session() as session:
        rows = session.scalars(select(TaskInstance).where(TaskInstance.run_id == run_id))
        by_index = {row.map_index: row.state for row in rows}
    return [
        {"other": task_id, "state": state and state.value, "becomes": by_index[index]}
        for index, (task_id, state) in others
    ]


def make_run(session: Session, written: tuple, run_id: str) -> None:
    dag, version = written
    run = DagRun(
        dag.dag_id,
        run_id,
        run_after=WHEN,
        state=DagRunState.RUNNING,
        run_type=DagRunType.MANUAL,
        triggered_by=DagRunTriggeredByType.TEST,
        start_date=WHEN,
    )
    run.created_dag_version_id = version.id
    session.add(run)
    session.flush()


def make_instance(written: tuple, task_id: str, run_id: str, index: int, state: str | None) -> TaskInstance:
    dag, version = written
    task = dag.get_task("often" if task_id == "gone" else task_id)
    instance = TaskInstance(task, version.id, run_id, state, index)
    instance.task_id = task_id
    return instance
