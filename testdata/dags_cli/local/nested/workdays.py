"""A DAG in a folder, with a timetable that is a plugin's."""

from datetime import datetime, timezone

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from every_third_day import EveryThirdDay

with DAG(
    "local_custom",
    schedule=EveryThirdDay("noon"),
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=True,
):
    EmptyOperator(task_id="only")
