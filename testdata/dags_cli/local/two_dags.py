"""Two DAGs of which all that a file can tell is shown."""

from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

START = datetime(2026, 1, 1, tzinfo=timezone.utc)

with DAG(
    "local_daily",
    schedule="30 6 * * *",
    start_date=START,
    catchup=True,
    description="it's one: with a colon",
    tags=["zebra", "alpha"],
    max_active_runs=3,
    max_active_tasks=5,
    max_consecutive_failed_dag_runs=2,
    dag_display_name="Täglich",
    allowed_run_types=["scheduled", "manual"],
):
    first = EmptyOperator(task_id="a", owner="zoe")
    first >> EmptyOperator(task_id="b", owner="adam", max_active_tis_per_dag=1)

with DAG("local_hourly", schedule=timedelta(hours=1), start_date=START, catchup=True):
    EmptyOperator(task_id="only")
