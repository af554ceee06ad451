"""The chores of the real scheduler, to compare what they leave behind.

usage: chores.py make folder   fills the database with what there is to do, and tells as a line of JSON which
                               scheduler is to do it
       chores.py official      has Airflow's scheduler do it
       chores.py dump          a line of JSON with the rows of each table that matters

Times near now are told by how many hours ago they are; ids that chance chose are not told.
"""

import json
import pickle
import re
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

BUNDLE = "dags-folder"
NOW = datetime.now(timezone.utc)
HOUR = timedelta(hours=1)
DATE = datetime(2024, 6, 1, 12, 30, 0, 250, tzinfo=timezone.utc)
TASKS = ("plain", "retried", "calls", "mailed", "odd")


def main(command, *arguments):
    {"make": make, "official": official, "dump": dump}[command](*arguments)


def call(context):
    """What a task wants to be called."""


def dags():
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG, Asset

    common = {"bash_command": "true", "retry_delay": HOUR}
    with DAG("chores", start_date=DATE, schedule=None) as chores:
        BashOperator(task_id="plain", **common)
        BashOperator(task_id="retried", retries=2, on_retry_callback=call, **common)
        BashOperator(task_id="calls", on_failure_callback=call, **common)
        BashOperator(task_id="mailed", email="somebody@example.com", **common)
        BashOperator(task_id="odd", **common)
    used = [Asset(name="used", uri="uri_used"), Asset(name="taken", uri="uri_second")]
    with DAG("reads", start_date=DATE, schedule=used) as reads:
        EmptyOperator(task_id="one", inlets=[Asset(name="asleep", uri="uri_asleep")])
    with DAG("writes", start_date=DATE, schedule=None) as writes:
        EmptyOperator(task_id="one", outlets=[Asset(name="other", uri="uri_first")])
    return [chores, reads, writes]


def make(folder):
    from airflow.dag_processing.collection import update_dag_parsing_results_in_db
    from airflow.models.dagbundle import DagBundleModel
    from airflow.serialization.serialized_objects import DagSerialization, LazyDeserializedDAG
    from airflow.utils.session import create_session

    place = Path(folder) / "file.py"
    place.write_text("# the file\n")
    all_dags = dags()
    for dag in all_dags:
        dag.fileloc, dag.relative_fileloc = str(place), place.name
    with create_session() as session:
        session.add(DagBundleModel(name=BUNDLE))
    with create_session() as session:
        update_dag_parsing_results_in_db(
            bundle_name=BUNDLE,
            bundle_version=None,
            version_data=None,
            dags=[LazyDeserializedDAG(data=DagSerialization.to_dict(dag)) for dag in all_dags],
            import_errors={},
            parse_duration=1.5,
            warnings=set(),
            session=session,
            files_parsed={(BUNDLE, place.name)},
        )
    with create_session() as session:
        jobs = make_jobs(session)
        make_orphans(session, jobs)
        make_overdue(session, jobs)
        make_waiting(session)
        make_backfills(session)
        make_assets(session)
        make_deadlines(session)
        make_connection_tests(session)
    print(json.dumps({"me": jobs["me"]}), flush=True)


def make_jobs(session):
    from airflow.jobs.job import Job

    jobs = {}
    for name, state, heartbeat in (
        # Ahead of now, so that they live however long the test takes.
        ("me", "running", NOW + HOUR),
        ("alive", "running", NOW + HOUR),
        ("dead", "running", NOW - HOUR),
        ("ended", "success", NOW),
    ):
        job = Job(job_type="SchedulerJob", state=state)
        job.latest_heartbeat, job.hostname = heartbeat, "elsewhere"
        session.add(job)
        session.flush()
        jobs[name] = job.id
    triggerer = Job(job_type="TriggererJob", state="running")
    triggerer.latest_heartbeat = NOW - HOUR
    session.add(triggerer)
    return jobs


def make_run(session, run_id, number, state="running", backfill_id=None):
    from airflow.models.dagbag import DBDagBag
    from airflow.utils.types import DagRunTriggeredByType

    dag = DBDagBag().get_latest_version_of_dag("chores", session=session)
    date = DATE + number * HOUR
    run = dag.create_dagrun(
        run_id=run_id,
        logical_date=date,
        data_interval=(date, date),
        run_after=date,
        run_type="backfill" if backfill_id else "manual",
        triggered_by=DagRunTriggeredByType.REST_API,
        state="running",
        conf={"a": [1]},
        backfill_id=backfill_id,
        session=session,
    )
    run.state = state
    instances = {ti.task_id: ti for ti in run.task_instances}
    session.flush()
    return run, instances


def put(ti, **fields):
    for field, value in fields.items():
        setattr(ti, field, value)


def make_orphans(session, jobs):
    started = {"start_date": NOW - HOUR, "last_heartbeat_at": NOW, "hostname": "elsewhere", "pid": 1}
    _, tis = make_run(session, "orphans", 0)
    put(tis["plain"], state="queued", try_number=1, queued_by_job_id=jobs["dead"])
    put(tis["retried"], state="running", try_number=2, queued_by_job_id=jobs["dead"], **started)
    put(tis["calls"], state="running", try_number=1, queued_by_job_id=jobs["alive"], **started)
    put(tis["mailed"], state="restarting", try_number=1, queued_by_job_id=jobs["ended"], **started)
    put(tis["mailed"], next_method="go_on", next_kwargs={"a": 1}, external_executor_id="abc")
    put(tis["odd"], state="queued", try_number=1, queued_by_job_id=jobs["dead"], executor="Nowhere")
    _, tis = make_run(session, "more_orphans", 1)
    put(tis["plain"], state="scheduled", try_number=1, queued_by_job_id=jobs["dead"])
    put(tis["retried"], state="deferred", try_number=1, queued_by_job_id=jobs["dead"])
    put(tis["calls"], state="queued", try_number=1)
    _, tis = make_run(session, "ended_run", 2, state="failed")
    put(tis["plain"], state="queued", try_number=1, queued_by_job_id=jobs["dead"])


def make_overdue(session, jobs):
    from airflow.models.log import Log

    _, tis = make_run(session, "silent", 3)
    for task_id, ti in tis.items():
        last = NOW if task_id == "odd" else NOW - HOUR
        put(ti, state="running", try_number=1, queued_by_job_id=jobs["me"], last_heartbeat_at=last)
        put(ti, start_date=NOW - 2 * HOUR, hostname="elsewhere", pid=1)
    _, tis = make_run(session, "silent_not_mine", 4)
    put(tis["plain"], state="running", queued_by_job_id=jobs["alive"], last_heartbeat_at=NOW - HOUR)
    put(tis["calls"], state="running", queued_by_job_id=jobs["me"], last_heartbeat_at=None)
    put(tis["odd"], state="queued", queued_by_job_id=jobs["me"], last_heartbeat_at=NOW - HOUR)
    _, tis = make_run(session, "stuck", 5)
    for ti in tis.values():
        put(ti, state="queued", try_number=1, queued_by_job_id=jobs["me"], queued_dttm=NOW - HOUR)
    put(tis["odd"], executor="Nowhere")
    for task_id in ("retried", "calls", "mailed"):
        for minutes in (50, 40):
            note = Log(event="stuck in queued reschedule", task_instance=tis[task_id].key)
            note.dttm = NOW - timedelta(minutes=minutes)
            session.add(note)
    note = Log(event="running", task_instance=tis["mailed"].key)
    note.dttm = NOW - timedelta(minutes=45)
    session.add(note)
    _, tis = make_run(session, "stuck_not_mine", 6)
    put(tis["plain"], state="queued", queued_by_job_id=jobs["alive"], queued_dttm=NOW - HOUR)
    put(tis["calls"], state="queued", queued_by_job_id=jobs["me"], queued_dttm=NOW)


def make_waiting(session):
    import pendulum
    from airflow.models.hitl import HITLDetail
    from airflow.models.trigger import Trigger
    from airflow.sdk.serde import serialize

    _, tis = make_run(session, "deferred", 7)
    for task_id, timeout in (("plain", NOW - HOUR), ("retried", NOW + HOUR), ("calls", None)):
        trigger = Trigger(classpath="a.Trigger", kwargs={"task": task_id})
        session.add(trigger)
        session.flush()
        put(tis[task_id], state="deferred", try_number=1, trigger_id=trigger.id, trigger_timeout=timeout)
        put(tis[task_id], next_method="go_on", next_kwargs={"a": 1})
    session.add(Trigger(classpath="a.Trigger", kwargs={"nobody": "waits for it"}))
    _, tis = make_run(session, "input", 8)
    left = {"at": DATE.astimezone(pendulum.UTC), "deep": {"x": [1, None]}}
    for ti in tis.values():
        put(ti, state="awaiting_input", try_number=1, trigger_timeout=NOW - HOUR)
        put(ti, next_method="execute_complete", next_kwargs=serialize(left))
    put(tis["mailed"], next_kwargs={"__classname__": "no.such.Class", "__version__": 1, "__data__": {}})
    put(tis["odd"], trigger_timeout=NOW + HOUR)
    session.flush()
    common = {"options": ["a", "b"], "subject": "?", "multiple": False, "params_input": {}}
    params = {"p": {"value": 1, "description": None, "schema": {}}, "q": 2}
    for task_id, more in (
        (
            "plain",
            {
                "responded_at": NOW - 2 * HOUR,
                "responded_by": {"id": "1", "name": "somebody"},
                "chosen_options": ["b"],
                "params_input": {"p": 3},
            },
        ),
        ("retried", {"defaults": ["a"]}),
        ("calls", {}),
        ("mailed", {"defaults": ["b"]}),
    ):
        session.add(HITLDetail(ti_id=tis[task_id].id, **(common | {"params": params} | more)))


def make_backfills(session):
    from airflow.models.backfill import Backfill, BackfillDagRun, ReprocessBehavior

    number = 20
    for states, made in (
        (("success", "failed"), NOW),
        (("success", "queued"), NOW - HOUR),
        (("running",), NOW - HOUR),
        ((), NOW - HOUR),
        # Within the two minutes of one that is being made, however long this takes.
        ((), NOW + HOUR),
    ):
        backfill = Backfill(
            dag_id="chores",
            from_date=DATE,
            to_date=DATE,
            dag_run_conf={},
            is_paused=False,
            reprocess_behavior=ReprocessBehavior.NONE,
            max_active_runs=10,
            created_at=made,
        )
        session.add(backfill)
        session.flush()
        for ordinal, state in enumerate(states, 1):
            number += 1
            run, _ = make_run(session, f"backfill_{number}", number, state, backfill.id)
            link = {"backfill_id": backfill.id, "dag_run_id": run.id, "logical_date": run.logical_date}
            session.add(BackfillDagRun(sort_ordinal=ordinal, **link))
    make_half_made_backfill(session, number + 1)


def make_half_made_backfill(session, number):
    """As ferroflow leaves one whose maker was interrupted a moment ago."""
    from airflow.models.backfill import Backfill, BackfillDagRun, ReprocessBehavior

    backfill = Backfill(
        dag_id="chores",
        from_date=DATE,
        to_date=DATE,
        dag_run_conf={},
        is_paused=True,
        reprocess_behavior=ReprocessBehavior.NONE,
        max_active_runs=10,
        created_at=NOW - HOUR,
        # Ahead of now: however long the test takes, its maker may live.
        updated_at=NOW + HOUR,
    )
    session.add(backfill)
    session.flush()
    run, _ = make_run(session, f"backfill_{number}", number, "queued", backfill.id)
    link = {"backfill_id": backfill.id, "logical_date": run.logical_date}
    session.add(BackfillDagRun(sort_ordinal=1, dag_run_id=run.id, **link))
    session.add(BackfillDagRun(sort_ordinal=2, exception_reason="unknown", **link))


def make_assets(session):
    from airflow.models.asset import AssetActive, AssetAliasModel, AssetModel
    from airflow.models.asset_state_store import AssetStateStoreModel
    from sqlalchemy import delete, select

    session.execute(delete(AssetActive))
    for name, uri in (
        ("taken", "uri_taken"),
        ("first", "uri_first"),
        ("orphan", "uri_orphan"),
        ("by alias", "uri_alias"),
    ):
        session.add(AssetModel(name=name, uri=uri, group="asset"))
    session.flush()
    find = {asset.uri: asset for asset in session.scalars(select(AssetModel))}
    alias = AssetAliasModel(name="alias", group="asset")
    alias.assets.append(find["uri_alias"])
    # What another asset is referred to by stays in use.
    alias.assets.append(find["uri_taken"])
    alias.assets.append(find["uri_first"])
    session.add(alias)
    for uri in ("uri_taken", "uri_first", "uri_orphan", "uri_used"):
        session.add(AssetActive.for_asset(find[uri]))
    for uri in ("uri_used", "uri_orphan"):
        session.add(AssetStateStoreModel(asset_id=find[uri].id, key="k", value="1", updated_at=NOW))


def make_deadlines(session):
    from airflow.models.deadline import Deadline
    from airflow.sdk.definitions.callback import AsyncCallback, SyncCallback

    run, _ = make_run(session, "late", 9, state="failed")
    run.start_date, run.end_date, run.last_scheduling_decision = NOW - HOUR, NOW, NOW
    kwargs = {"x": 1, "at": DATE, "pair": (1, "é"), "deep": {"a": [None, {"b": 1.5}]}, "wait": HOUR}
    for number, (callback, hours) in enumerate(
        (
            (AsyncCallback("a.module.call", kwargs=kwargs), -1),
            (SyncCallback("a.module.other", kwargs={"y": 2}), -2),
            (AsyncCallback("a.module.call"), -3),
            (AsyncCallback("a.module.later", kwargs={"z": 3}), 1),
        )
    ):
        session.add(
            Deadline(
                deadline_time=NOW + hours * HOUR - timedelta(microseconds=number),
                callback=callback,
                dagrun_id=run.id,
                dag_id="chores",
                deadline_alert_id=None,
            )
        )


def make_connection_tests(session):
    from airflow.models.connection_test import ConnectionTestRequest

    for name, executor, state, written in (
        ("unknown", "Nowhere", "pending", NOW),
        ("unable", None, "pending", NOW),
        ("fresh", None, "running", NOW),
        ("stale pending", None, "pending", NOW - HOUR),
        ("stale queued", None, "queued", NOW - HOUR),
        ("stale running", None, "running", NOW - HOUR),
        ("done", None, "success", NOW - HOUR),
    ):
        request = ConnectionTestRequest(connection_id=name, conn_type="http", executor=executor)
        session.add(request)
        session.flush()
        request.state = state
        session.flush()
        request.updated_at = request.created_at = written
        session.flush()


def official():
    from airflow.callbacks.database_callback_sink import DatabaseCallbackSink
    from airflow.executors.base_executor import BaseExecutor
    from airflow.executors.executor_utils import ExecutorName
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
    from airflow.models.deadline import Deadline
    from airflow.utils.session import create_session
    from sqlalchemy import select

    class Executor(BaseExecutor):
        """Runs nothing, and can take tasks back."""

        def revoke_task(self, *, ti):
            pass

        def sync(self):
            pass

    executor = Executor()
    executor.name = ExecutorName("a.module.Executor", alias="Executor")
    executor.callback_sink = DatabaseCallbackSink()
    with create_session() as session:
        me = session.scalars(select(Job).order_by(Job.id).limit(1)).one()
    runner = SchedulerJobRunner(job=me, executors=[executor])
    executor.job_id = me.id
    runner._reap_stale_connection_tests()
    with create_session() as session:
        runner._enqueue_connection_tests(session=session)
    runner.adopt_or_reset_orphaned_tasks()
    runner._find_and_purge_task_instances_without_heartbeats()
    with create_session() as session:
        runner._process_executor_events(executor=executor, session=session)
    runner._handle_tasks_stuck_in_queued()
    runner.check_trigger_timeouts()
    runner.check_awaiting_input_timeouts()
    runner._mark_backfills_complete()
    with create_session() as session:
        is_mariadb = getattr(session.get_bind().dialect, "is_mariadb", False)
    # What Airflow says there, MariaDB does not understand.
    if not is_mariadb:
        runner._update_asset_orphanage()
    with create_session() as session:
        missed = select(Deadline).where(Deadline.deadline_time < NOW, ~Deadline.missed)
        for deadline in session.scalars(missed.order_by(Deadline.deadline_time)):
            deadline.handle_miss(session)
    runner._remove_unreferenced_triggers()


TABLES = {
    "task_instance": ("run_id", "task_id"),
    "task_instance_history": ("run_id", "task_id"),
    "job": ("id",),
    "callback": ("id",),
    "log": ("run_id", "task_id", "event", "dttm"),
    "backfill": ("id",),
    "asset_active": ("name", "uri"),
    "asset_state_store": ("asset_id",),
    "dag_warning": ("dag_id",),
    "trigger": ("id",),
    "deadline": ("id",),
    "hitl_detail": ("subject", "ti_id"),
    "hitl_detail_history": ("subject",),
    "connection_test_request": ("connection_id",),
    "dag_run": ("run_id",),
}
LEFT_OUT = {"id", "task_instance_id", "ti_id", "dag_version_id", "created_dag_version_id", "unixname"}
LEFT_OUT |= {"token", "log_template_id", "callback_id", "context_carrier", "dag_run_id", "ti_history_id"}
LEFT_OUT |= {"created_at"}


def dump():
    from airflow.models.trigger import Trigger
    from airflow.utils.session import create_session
    from sqlalchemy import MetaData, Table, select

    metadata = MetaData()
    with create_session() as session:
        for name, order in TABLES.items():
            table = Table(name, metadata, autoload_with=session.get_bind())
            found = session.execute(select(table)).mappings().all()
            rows = []
            for row in sorted(found, key=lambda row: [str(row[column]) for column in order]):
                cleaned = {key: value_of(key, row[key]) for key in sorted(row) if key not in LEFT_OUT}
                if name == "trigger":
                    cleaned["kwargs"] = tidy(Trigger._decrypt_kwargs(row["kwargs"]))
                rows.append(cleaned)
            if name == "hitl_detail":
                rows.sort(key=json.dumps)
            print(json.dumps({"table": name, "rows": rows}), flush=True)


def value_of(key, value):
    if key == "executor_config" and value is not None:
        return repr(pickle.loads(bytes(value)))
    if key == "duration" and value is not None:
        return round(value / 3600)
    # Of JSON that is null, and of nothing, Airflow makes the same.
    if isinstance(value, str) and (value.startswith(("{", "[")) or value == "null"):
        value = json.loads(value)
    if isinstance(value, dict) and "req_data" in value.get("__var", {}):
        from airflow.callbacks import callback_requests

        request = getattr(callback_requests, value["__var"]["req_class"])
        value["__var"]["req_data"] = request.from_json(value["__var"]["req_data"]).model_dump(mode="json")
    return tidy(value)


TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?")
UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")


def tidy(value):
    """Without what is another each time."""
    if isinstance(value, dict):
        told = {key: tidy(inner) for key, inner in value.items() if key != "context_carrier"}
        if isinstance(told.get("duration"), float):
            told["duration"] = round(told["duration"])
        return told
    if isinstance(value, (list, tuple, set)):
        return [tidy(inner) for inner in value]
    if isinstance(value, datetime):
        return moment((value if value.tzinfo else value.replace(tzinfo=timezone.utc)).isoformat())
    if isinstance(value, float) and 1.6e9 < value < 2.2e9:
        return moment(datetime.fromtimestamp(value, timezone.utc).isoformat())
    if isinstance(value, str):
        return UUID.sub("uuid", TIME.sub(lambda found: moment(found[0]), value))
    return value if isinstance(value, (int, float, bool, type(None))) else str(value)


def moment(text):
    """A time near now by the hours since; another as it is written."""
    time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    time = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    hours = round((NOW - time) / HOUR)
    return f"{hours} hours ago" if abs(hours) < 48 else text


if __name__ == "__main__":
    main(*sys.argv[1:])
