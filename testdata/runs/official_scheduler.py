"""Makes and starts runs with the real Airflow's scheduler, to compare the rows.

usage: official_scheduler.py store folder   stores the DAGs below in Airflow's database, and changes of assets
       official_scheduler.py schedule       lets Airflow's scheduler make runs until nothing more is due, and
                                            start them
       official_scheduler.py dump           a line of JSON with the rows of each table

Rows leave out ids and what chance chose; times that are those of the making are told from those that are not
there.
"""

import json
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

BUNDLE = "dags-folder"
NOW_COLUMNS = {"queued_at", "start_date", "created_at", "updated_at", "last_updated_at", "timestamp"}
LEFT_OUT = {
    "id",
    "log_template_id",
    "created_dag_version_id",
    "dag_version_id",
    "creating_job_id",
    "last_parsed_time",
}


def main(command, *arguments):
    {"store": store, "schedule": schedule, "dump": dump}[command](*arguments)


def at(*parts):
    return datetime(*parts, tzinfo=timezone.utc)


async def late(context):
    pass


def dags():
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import (
        DAG,
        Asset,
        AssetAlias,
        AsyncCallback,
        DeadlineAlert,
        DeadlineReference,
        SyncCallback,
    )
    from airflow.timetables.assets import AssetOrTimeSchedule
    from airflow.timetables.interval import CronDataIntervalTimetable
    from airflow.timetables.trigger import CronTriggerTimetable

    start = {"start_date": at(2024, 1, 1), "end_date": at(2024, 1, 5)}
    x, y = Asset("x"), Asset("y", uri="s3://y")
    intervals = CronDataIntervalTimetable("0 0 * * *", timezone="UTC")
    triggers = CronTriggerTimetable("30 6 * * *", timezone="Europe/Berlin", interval=timedelta(hours=1))
    on_y_or_time = AssetOrTimeSchedule(timetable=intervals, assets=[y])
    alerts = [
        DeadlineAlert(
            name="by its date",
            reference=DeadlineReference.DAGRUN_LOGICAL_DATE,
            interval=timedelta(hours=2),
            callback=AsyncCallback(late, kwargs={"text": "too late", "list": [1, {"a": None}]}),
        ),
        DeadlineAlert(
            reference=DeadlineReference.FIXED_DATETIME(at(2030, 1, 1)),
            interval=timedelta(seconds=90),
            callback=SyncCallback("some.module.notify", executor="LocalExecutor"),
        ),
        DeadlineAlert(
            reference=DeadlineReference.AVERAGE_RUNTIME(max_runs=5, min_runs=2),
            interval=timedelta(minutes=1),
            callback=SyncCallback("some.module.notify"),
        ),
    ]
    made = [
        DAG("intervals", schedule=intervals, catchup=True, **start),
        DAG("few", schedule=intervals, catchup=True, max_active_runs=2, **start),
        DAG("triggers", schedule=triggers, catchup=True, **start),
        DAG("deltas", schedule=timedelta(days=2), catchup=True, **start),
        DAG("once", schedule="@once", start_date=at(2024, 1, 1)),
        DAG("never", schedule=None, start_date=at(2024, 1, 1)),
        DAG("not_allowed", schedule=intervals, catchup=True, **start),
        DAG("deadlines", schedule=intervals, catchup=True, deadline=alerts, **start),
        DAG("on_x", schedule=[x], start_date=at(2024, 1, 1)),
        DAG("on_x_and_y", schedule=(x & y), start_date=at(2024, 1, 1)),
        DAG("on_x_or_y", schedule=(x | y), catchup=True, start_date=at(2024, 1, 1)),
        DAG("on_alias", schedule=[AssetAlias("z")], start_date=at(2024, 1, 1)),
        DAG("on_y_ref", schedule=[Asset.ref(name="y")], start_date=at(2024, 1, 1)),
        DAG("on_x_full", schedule=[x], max_active_runs=1, start_date=at(2024, 1, 1)),
        DAG("on_y_or_time", schedule=on_y_or_time, catchup=True, **start),
    ]
    for dag in made:
        with dag:
            first = EmptyOperator(task_id="first", retries=2)
            first >> EmptyOperator(task_id="second", pool_slots=3, priority_weight=4)
    with DAG("source", schedule=None, start_date=at(2024, 1, 1)) as source:
        EmptyOperator(task_id="task", outlets=[x, y])
    return [*made, source]


def store(folder):
    from airflow.assets.manager import asset_manager
    from airflow.dag_processing.collection import update_dag_parsing_results_in_db
    from airflow.models.asset import AssetAliasModel, AssetModel
    from airflow.models.dag import DagModel
    from airflow.serialization.serialized_objects import DagSerialization, LazyDeserializedDAG
    from airflow.utils.session import create_session
    from sqlalchemy import select, update

    place = Path(folder) / "file.py"
    place.write_text("# the file\n")
    all_dags = dags()
    for dag in all_dags:
        dag.fileloc, dag.relative_fileloc = str(place), place.name
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
        session.execute(update(DagModel).values(is_paused=False))
        # A DAG file cannot ask for this; a row can.
        row = update(DagModel).where(DagModel.dag_id == "not_allowed")
        session.execute(row.values(allowed_run_types=["manual"]))
    for name, aliases in [("x", []), ("y", ["z"]), ("x", [])]:
        with create_session() as session:
            asset = session.scalar(select(AssetModel).where(AssetModel.name == name))
            asset_manager.register_asset_change(
                asset=asset.to_serialized(),
                source_alias_names=aliases,
                session=session,
            )
    with create_session() as session:
        assert session.scalar(select(AssetAliasModel.name)) == "z"


def schedule():
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from airflow.utils.sqlalchemy import prohibit_commit
    from sqlalchemy import func, select

    job = Job()
    runner = SchedulerJobRunner(job=job)
    before = -1
    while True:
        with create_session() as session:
            with prohibit_commit(session) as guard:
                runner._create_dagruns_for_dags(guard, session)
            count = session.scalar(select(func.count()).select_from(DagRun))
        if count == before:
            break
        before = count
    for _ in range(10):
        with create_session() as session:
            runner._start_queued_dagruns(session)


def dump():
    from airflow.utils.session import create_session
    from sqlalchemy import MetaData, Table, select

    tables = ["dag", "dag_run", "task_instance", "dagrun_asset_event", "asset_dag_run_queue"]
    tables += ["deadline", "callback"]
    with create_session() as session:
        metadata = MetaData()
        made = {name: Table(name, metadata, autoload_with=session.get_bind()) for name in tables}
        runs = {row["id"]: name_of(row) for row in session.execute(select(made["dag_run"])).mappings()}
        for name, table in made.items():
            rows = [clean(row, runs) for row in session.execute(select(table)).mappings()]
            rows.sort(key=lambda row: json.dumps(row, sort_keys=True))
            print(json.dumps({"table": name, "rows": rows}), flush=True)


def name_of(row):
    return f"{row['dag_id']} {run_id_of(row['run_id'])}"


def run_id_of(run_id):
    """Without the letters that chance chose, and without the time at which an asset was queued."""
    return run_id.split("__")[0] if run_id.startswith("asset_triggered__") else run_id


def clean(row, runs):
    return {key: value_of(row, key, runs) for key in sorted(row) if key not in LEFT_OUT}


def value_of(row, key, runs):
    value = row[key]
    if key == "run_id":
        return run_id_of(value)
    if key in ("dag_run_id", "dagrun_id"):
        return runs.get(value)
    if key in ("callback_id", "deadline_alert_id", "fileloc", "bundle_version"):
        return value is not None
    if key == "executor_config" and value is not None:
        return bytes(value).hex()
    if key == "context_carrier":
        return value is not None
    if key == "deadline":
        return value is not None
    is_time = isinstance(value, datetime) or key in NOW_COLUMNS | {"run_after", "deadline_time"}
    if is_time and value is not None:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        is_now = abs(datetime.now(timezone.utc) - moment) < timedelta(hours=1)
        return "now" if is_now else moment.isoformat()
    if isinstance(value, str) and value.startswith(("{", "[")):
        return json.loads(value)
    return value if isinstance(value, (str, int, float, bool, dict, list, type(None))) else str(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
