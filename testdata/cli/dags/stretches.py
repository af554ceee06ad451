"""DAGs of which stretches of the past can be run again, and assets by several names."""

from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import (
    DAG,
    Asset,
    AssetAlias,
    CronDataIntervalTimetable,
    CronPartitionTimetable,
    Param,
)

START = datetime(2020, 1, 1)

with DAG(
    "intervals",
    schedule=CronDataIntervalTimetable("0 12 * * *", timezone="Europe/Vienna"),
    start_date=datetime(2020, 6, 1),
    catchup=False,
    params={"size": Param(5, type="integer", minimum=1)},
):
    first = EmptyOperator(task_id="first", retries=1)
    EmptyOperator.partial(task_id="many").expand(task_display_name=["a", "b"])
    first >> EmptyOperator(task_id="second", pool="narrow")

with DAG("steps", schedule="0 */6 * * *", start_date=START):
    EmptyOperator(task_id="step", outlets=[Asset("stock", group="goods"), AssetAlias("hot", group="goods")])

with DAG(
    "by_partition",
    schedule=CronPartitionTimetable("0 0 * * *", timezone="America/New_York", key_format="%Y-%m-%d"),
    start_date=START,
):
    EmptyOperator(task_id="part", inlets=[Asset("stock", group="goods")])

with DAG("never_again", schedule="@daily", start_date=START, allowed_run_types=["manual", "scheduled"]):
    EmptyOperator(
        task_id="only", outlets=[Asset("rare", uri="file:///rare", extra={"password": "x", "n": [1]})]
    )

with DAG("two_a", schedule=None):
    EmptyOperator(task_id="make", outlets=[Asset("shared")])

with DAG("two_b", schedule=None, params={"size": Param(5, type="integer")}):
    EmptyOperator(task_id="make", outlets=[Asset("shared")])

with DAG("keen", schedule=[AssetAlias("hot", group="goods")]):
    EmptyOperator(task_id="use", inlets=[Asset("shared")])
