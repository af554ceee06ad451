"""DAGs of which only the schedule and what the listing shows of them matter."""

from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, CronPartitionTimetable

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def make(dag_id: str, schedule, *, owner: str = "airflow", **options) -> DAG:
    with DAG(dag_id, schedule=schedule, start_date=START, catchup=True, **options) as dag:
        EmptyOperator(task_id="only", owner=owner)
    return dag


daily = make(
    "daily",
    "30 6 * * *",
    owner="it's me",
    description='it\'s "the" daily one: with a colon, a \\ and ümlauts',
    tags=["zebra", "alpha"],
    max_active_runs=3,
    dag_display_name="Täglich",
)
hourly = make("hourly", timedelta(hours=1), description="7", allowed_run_types=["scheduled", "manual"])
never = make("never", None, tags=["alpha"])
once = make("once", "@once")
on_asset = make("on_asset", [Asset("orders")])
partitioned = make("partitioned", CronPartitionTimetable("0 0 * * *", timezone="UTC"))
