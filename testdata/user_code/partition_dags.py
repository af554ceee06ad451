"""DAGs that wait for assets by code of somebody's own, what changes these assets, and what came of it."""

import json
from datetime import datetime, timezone

KEYS = {
    "orders": ["eu/2024-01-02", "us/2024-01-02", "eu/2024-01-03"],
    "plain": ["eu/2024-01-02", "nonsense"],
}
BAD = [
    ("to_downstream", "raises"),
    ("to_downstream", "odd"),
    ("to_downstream", "endless"),
    ("to_downstream", "long"),
    ("to_downstream", "exits"),
    ("to_downstream", "hangs"),
    ("to_upstream", "raises"),
    ("to_upstream", "odd"),
    ("to_upstream", "exits"),
    ("to_upstream", "hangs"),
]


def dags(version):
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG

    start_date = datetime(2024, 1, 1, tzinfo=timezone.utc)
    made = []
    for dag_id, schedule in {"producer": "@once", **schedules(version)}.items():
        with DAG(dag_id, schedule=schedule, start_date=start_date, catchup=True) as dag:
            if dag_id == "producer":
                EmptyOperator(task_id="task", outlets=list(assets().values()))
            else:
                EmptyOperator(task_id="task")
        made.append(dag)
    return made


def assets():
    from airflow.sdk import Asset

    return {name: Asset(name) for name in ["orders", "plain"]}


def schedules(version):
    from airflow import plugins_manager
    from airflow.sdk import IdentityMapper, MinimumCount, PartitionedAssetTimetable, RollupMapper

    manager = plugins_manager
    own = {
        path.rpartition(".")[2]: found
        for classes in (
            manager.get_partition_mapper_plugins(),
            manager.get_windows_plugins(),
            manager.get_timetables_plugins(),
        )
        for path, found in classes.items()
    }
    orders, plain = assets().values()

    def partitioned(default, of_plain=None):
        config = {plain: of_plain} if of_plain else {}
        return PartitionedAssetTimetable(
            assets=orders | plain if of_plain else orders,
            default_partition_mapper=default,
            partition_mapper_config=config,
        )

    if version == "bad_partitions":
        bad = {f"{method}_{deed}": own["Bad"](method, deed) for method, deed in BAD}
        return {dag_id: partitioned(mapper) for dag_id, mapper in bad.items()} | {
            "good": partitioned(own["Days"]())
        }
    if version == "hanging_partitions":
        stuck = {f"stuck_{number}": partitioned(own["HangingMapper"](number)) for number in range(3)}
        return stuck | {"good": partitioned(own["Days"]())}
    every = {"upstream_mapper": own["Days"](), "window": own["EveryRegion"]()}
    return {
        "regions": partitioned(own["Regions"](days=2), IdentityMapper()),
        "limited": partitioned(own["Regions"](days=1, max_downstream_keys=1)),
        "rollup": partitioned(RollupMapper(**every)),
        "enough": partitioned(RollupMapper(**every, wait_policy=MinimumCount(1)), own["Days"]()),
        "impossible": partitioned(RollupMapper(**every, wait_policy=MinimumCount(3))),
        "most": partitioned(own["MostRegions"]()),
        "on_orders": own["OnOrders"](),
        "on_any": own["OnAny"](),
        "loner": own["Loner"](),
    }


def begin():
    """The task of the producer runs, for a partition."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        run = session.scalar(select(DagRun).where(DagRun.dag_id == "producer"))
        run.partition_key, run.partition_date = "none/2024-01-01", datetime(2024, 1, 1, tzinfo=timezone.utc)
        for ti in run.task_instances:
            ti.state, ti.start_date = "running", ti.updated_at


def produce():
    """It ends, and has changed partitions of assets."""
    from airflow.api_fastapi.execution_api.datamodels.asset import AssetProfile
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import select

    outlets = [AssetProfile(name=name, uri=name, type="Asset") for name in KEYS]
    events = [
        {"dest_asset_key": {"name": name, "uri": name}, "extra": {}, "partition_key": key}
        for name, keys in KEYS.items()
        for key in keys
    ]
    # The last is that of the run itself, and takes its date along.
    events.append({"dest_asset_key": {"name": "orders", "uri": "orders"}, "extra": {}})
    with create_session() as session:
        ti = session.scalar(select(TaskInstance).where(TaskInstance.dag_id == "producer"))
        TaskInstance.register_asset_changes_in_db(ti, outlets, events, session=session)
        ti.state = "success"


def change():
    """An asset changes as a whole, seen from outside."""
    from airflow.assets.manager import asset_manager
    from airflow.serialization.definitions.assets import SerializedAsset
    from airflow.utils.session import create_session

    with create_session() as session:
        plain = SerializedAsset("plain", "plain", "asset", {}, [])
        asset_manager.register_asset_change(asset=plain, session=session)


def dump_partitions():
    from airflow.models.asset import AssetModel, AssetPartitionDagRun, PartitionedAssetKeyLog
    from airflow.models.dag import DagModel
    from airflow.models.dagrun import DagRun
    from airflow.models.log import Log
    from airflow.utils.session import create_session
    from sqlalchemy import select

    def told(moment):
        return moment and moment.astimezone(timezone.utc).isoformat()

    with create_session() as session:
        names = {asset.id: asset.name for asset in session.scalars(select(AssetModel))}
        runs = {run.id: run for run in session.scalars(select(DagRun).where(DagRun.dag_id != "producer"))}
        rows = [
            {
                "partition": [row.target_dag_id, row.partition_key],
                "date": told(row.partition_date),
                "fingerprint": row.rollup_fingerprint,
                "has_run": row.created_dag_run_id in runs,
                "arrived": sorted(
                    [names[log.asset_id], log.source_partition_key, log.target_partition_key]
                    for log in session.scalars(
                        select(PartitionedAssetKeyLog).where(
                            PartitionedAssetKeyLog.asset_partition_dag_run_id == row.id
                        )
                    )
                ),
            }
            for row in session.scalars(select(AssetPartitionDagRun))
        ]
        rows += [
            {
                "run": [run.dag_id, run.partition_key or ""],
                "date": told(run.partition_date),
                "is": [run.run_type, run.triggered_by.value, told(run.logical_date)],
                "run_id": run.run_id.partition("__")[0],
                "events": sorted(
                    [event.name, event.partition_key or ""] for event in run.consumed_asset_events
                ),
            }
            for run in runs.values()
        ]
        rows += [
            {"log": [log.event, log.dag_id, log.task_id]}
            for log in session.scalars(select(Log).where(Log.event.contains("partition")))
        ]
        rows += [
            {"dag": [dag.dag_id, dag.timetable_summary], "mappers": dag.partition_mapper_info}
            for dag in session.scalars(select(DagModel))
        ]
    print(json.dumps({"rows": sorted(rows, key=json.dumps)}), flush=True)
