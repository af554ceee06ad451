"""Deadlines of every reference, with asynchronous and synchronous callbacks; a later phase changes one."""

from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, AsyncCallback, DeadlineAlert, DeadlineReference, SyncCallback


async def late(context, text):
    print(text)


def late_too(context):
    print("late")


alerts = [
    DeadlineAlert(
        name="since it was queued",
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=timedelta(minutes=5),
        callback=AsyncCallback(late, kwargs={"text": "too late"}),
    ),
    DeadlineAlert(
        reference=DeadlineReference.DAGRUN_LOGICAL_DATE,
        interval=timedelta(hours=1, seconds=0.5),
        callback=SyncCallback(late_too),
    ),
    DeadlineAlert(
        name="fixed",
        reference=DeadlineReference.FIXED_DATETIME(datetime(2030, 1, 1, tzinfo=timezone.utc)),
        interval=timedelta(days=-1),
        callback=AsyncCallback("some.module.notify"),
    ),
    DeadlineAlert(
        name="average",
        reference=DeadlineReference.AVERAGE_RUNTIME(max_runs=5, min_runs=2),
        interval=timedelta(minutes=1),
        callback=AsyncCallback(late, kwargs={"text": "slower than usual"}),
    ),
]
with DAG("deadlines", schedule="@daily", start_date=datetime(2024, 1, 1), catchup=True, deadline=alerts):
    EmptyOperator(task_id="only")

with DAG("deadline_single", schedule=None, deadline=alerts[0]):
    EmptyOperator(task_id="only")
