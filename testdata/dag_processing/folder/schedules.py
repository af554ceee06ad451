"""Schedules of every builtin kind. Start dates are fixed and all catch up, so that next runs are the same;
a later phase changes one.
"""

from datetime import datetime, timedelta

import pendulum
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import (
    DAG,
    CronDataIntervalTimetable,
    CronTriggerTimetable,
    DeltaDataIntervalTimetable,
    DeltaTriggerTimetable,
    MultipleCronTriggerTimetable,
)
from airflow.timetables.events import EventsTimetable
from dateutil.relativedelta import relativedelta

BERLIN = pendulum.timezone("Europe/Berlin")
EVENTS = [pendulum.datetime(2024, 5, 1, 8), pendulum.datetime(2024, 7, 1, 8, tz="Europe/Berlin")]
SCHEDULES = {
    "none": None,
    "once": "@once",
    "continuous": "@continuous",
    "hourly": "@hourly",
    "daily": "@daily",
    "weekly": "@weekly",
    "monthly": "@monthly",
    "quarterly": "@quarterly",
    "yearly": "@yearly",
    "cron": "5 4 * * sun",
    "cron_changed": "10 4 * * *",
    "cron_steps": "*/7 8-18 1,15 * *",
    "cron_nth_weekday": "0 12 * * MON#2",
    "delta": timedelta(hours=36),
    "relative_delta": relativedelta(months=1, days=2),
    "cron_interval": CronDataIntervalTimetable("0 2 * * *", timezone="America/New_York"),
    "cron_trigger": CronTriggerTimetable("30 18 * * 5", timezone=BERLIN, interval=timedelta(days=4)),
    "cron_trigger_now": CronTriggerTimetable(
        "0 0 1 * *", timezone="UTC", run_immediately=timedelta(minutes=5)
    ),
    "multiple_crons": MultipleCronTriggerTimetable("0 6 * * *", "30 16 * * *", timezone="Asia/Kolkata"),
    "delta_interval": DeltaDataIntervalTimetable(timedelta(days=2)),
    "delta_trigger": DeltaTriggerTimetable(timedelta(days=1), interval=timedelta(hours=3)),
    "events": EventsTimetable(event_dates=EVENTS, description="Two events"),
    "events_only": EventsTimetable(event_dates=EVENTS, restrict_to_events=True, description=None),
}
for name, schedule in SCHEDULES.items():
    with DAG(
        f"schedule_{name}",
        schedule=schedule,
        start_date=datetime(2024, 1, 10, 3, 20),
        catchup=True,
        max_active_runs=1,
    ):
        EmptyOperator(task_id="only")

with DAG(
    "schedule_zoned_start",
    schedule="0 0 * * *",
    start_date=datetime(2024, 3, 30, tzinfo=BERLIN),
    catchup=True,
):
    EmptyOperator(task_id="only")
with DAG(
    "schedule_ended",
    schedule="@daily",
    start_date=datetime(2024, 1, 1),
    end_date=datetime(2023, 12, 1),
    catchup=True,
):
    EmptyOperator(task_id="only")
with DAG("schedule_start_of_tasks", schedule="@daily", catchup=False):
    EmptyOperator(task_id="later", start_date=datetime(2024, 2, 2))
    EmptyOperator(task_id="earlier", start_date=datetime(2024, 2, 1))
with DAG("schedule_no_start", schedule="@daily"):
    EmptyOperator(task_id="only")
with DAG("schedule_no_catchup", schedule="@daily", start_date=datetime(2024, 1, 1), catchup=False):
    EmptyOperator(task_id="only")
