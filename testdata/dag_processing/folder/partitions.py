"""Partitioned DAGs: by cron, by assets with mappers, at run time."""

from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import (
    DAG,
    Asset,
    CronPartitionTimetable,
    DayWindow,
    FixedKeyMapper,
    PartitionedAssetTimetable,
    PartitionedAtRuntime,
    RollupMapper,
    StartOfDayMapper,
    StartOfHourMapper,
)

START = datetime(2024, 1, 1)
hourly, fixed = Asset("partitioned_hourly"), Asset("partitioned_fixed")

with DAG(
    "partition_producer",
    schedule=CronPartitionTimetable(
        "15 * * * *", timezone="Europe/Berlin", run_offset=-1, key_format="%Y-%m-%dT%H"
    ),
    start_date=START,
    catchup=True,
):
    EmptyOperator(task_id="produce", outlets=[hourly])

with DAG(
    "partition_consumer",
    schedule=PartitionedAssetTimetable(
        assets=hourly & fixed,
        partition_mapper_config={fixed: FixedKeyMapper("all")},
        default_partition_mapper=StartOfHourMapper(),
    ),
    start_date=START,
):
    EmptyOperator(task_id="consume")

with DAG(
    "partition_rollup",
    schedule=PartitionedAssetTimetable(
        assets=hourly,
        default_partition_mapper=RollupMapper(upstream_mapper=StartOfDayMapper(), window=DayWindow()),
    ),
    start_date=START,
):
    EmptyOperator(task_id="consume")

with DAG("partition_at_runtime", schedule=PartitionedAtRuntime(), start_date=START):
    EmptyOperator(task_id="produce", outlets=[fixed])
