"""Runs that nobody asks for: by schedules and assets, limited, timed out, paused, and made by a backfill."""

from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import (
    DAG,
    Asset,
    AssetAlias,
    AssetOrTimeSchedule,
    AsyncCallback,
    CronDataIntervalTimetable,
    CronTriggerTimetable,
    DeadlineAlert,
    DeadlineReference,
    PartitionedAssetTimetable,
    PartitionedAtRuntime,
    task,
)
from airflow.timetables.events import EventsTimetable
from tracing import START, all_callbacks, noting

ONCE = Asset("sc_once")
FIRST = Asset("sc_first", uri="x-test://bucket/first")
SECOND = Asset("sc_second")
CHAINED = Asset("sc_chained")
THROUGH = Asset("sc_through_alias")
ALIAS = AssetAlias("sc_alias")
PARTED = Asset("sc_parted")


def days(count: int) -> dict:
    """Every day of so many from the first on."""
    return {"start_date": START, "end_date": START + timedelta(days=count - 1), "catchup": True}


with DAG("sched_cron", schedule="0 0 * * *", max_active_runs=2, **days(4)):
    before = EmptyOperator(task_id="before")
    alone = BashOperator(task_id="alone", bash_command="echo {{ ds }}", depends_on_past=True)
    after = BashOperator(task_id="after", bash_command="echo {{ ts }}", wait_for_downstream=True)
    before >> alone >> after

with DAG(
    "sched_intervals",
    schedule=CronDataIntervalTimetable("0 3 * * *", timezone="Europe/Berlin"),
    start_date=datetime(2025, 10, 24, tzinfo=timezone.utc),
    end_date=datetime(2025, 10, 27, tzinfo=timezone.utc),
    catchup=True,
):
    BashOperator(task_id="shows", bash_command="echo {{ data_interval_start }} {{ data_interval_end }}")

with DAG("sched_delta", schedule=timedelta(hours=8), **days(2)):
    BashOperator(task_id="shows", bash_command="echo {{ run_id }} {{ logical_date }}")

with DAG(
    "sched_events",
    schedule=EventsTimetable(
        [datetime(2026, 1, day, 5, tzinfo=timezone.utc) for day in (2, 3, 7)], description="three"
    ),
    start_date=START,
    catchup=True,
):
    EmptyOperator(task_id="only")

with DAG("sched_latest", schedule="@daily", start_date=START, catchup=False):
    EmptyOperator(task_id="only")

with DAG("sched_once", schedule="@once", start_date=START, on_success_callback=noting("dag success")):

    @task(retries=1, retry_delay=timedelta(seconds=1), outlets=[ONCE], **all_callbacks())
    def twice(ti=None):
        if ti.try_number % 2 == 1:
            raise ValueError("not yet")

    twice()

with DAG("sched_on_once", schedule=[ONCE], start_date=START):
    EmptyOperator(task_id="only")

with DAG(
    "sched_gives_up",
    schedule="@daily",
    max_active_runs=1,
    max_consecutive_failed_dag_runs=2,
    on_failure_callback=noting("dag failure"),
    **days(5),
):
    BashOperator(task_id="fails", bash_command="exit 1")

with DAG(
    "sched_times_out",
    schedule=None,
    start_date=START,
    dagrun_timeout=timedelta(seconds=4),
    on_failure_callback=noting("dag failure"),
):
    BashOperator(task_id="waits", bash_command="echo never", pool="closed_pool")

with DAG(
    "sched_in_time",
    schedule="@once",
    start_date=START,
    deadline=DeadlineAlert(
        reference=DeadlineReference.FIXED_DATETIME(datetime(2100, 1, 1, tzinfo=timezone.utc)),
        interval=timedelta(hours=1),
        callback=AsyncCallback("nobody.calls.this"),
    ),
):
    EmptyOperator(task_id="only")

with DAG("sched_backfilled", schedule="@daily", start_date=START, end_date=START + timedelta(days=9)):
    BashOperator(task_id="shows", bash_command="echo {{ ds }}")

with DAG("sched_makes_first", schedule=None, start_date=START):
    BashOperator(task_id="makes", bash_command="echo made", outlets=[FIRST])

with DAG("sched_makes_second", schedule=None, start_date=START):

    @task(outlets=[SECOND, ALIAS])
    def makes(*, outlet_events=None):
        outlet_events[SECOND].extra = {"rows": 5}
        outlet_events[ALIAS].add(THROUGH)

    makes()

with DAG("sched_on_first", schedule=[FIRST], start_date=START):

    @task(outlets=[CHAINED])
    def passes_on(triggering_asset_events=None):
        return [
            [asset.name, event.source_dag_id, event.source_task_id, event.extra]
            for asset, events in triggering_asset_events.items()
            for event in events
        ]

    passes_on()

with DAG("sched_on_chained", schedule=[CHAINED], start_date=START):
    EmptyOperator(task_id="only")

with DAG("sched_on_both", schedule=FIRST & SECOND, start_date=START):
    EmptyOperator(task_id="only")

with DAG("sched_on_any", schedule=FIRST | SECOND, start_date=START):
    EmptyOperator(task_id="only")

with DAG("sched_on_alias", schedule=[ALIAS], start_date=START):
    EmptyOperator(task_id="only")

with DAG(
    "sched_on_first_or_time",
    schedule=AssetOrTimeSchedule(timetable=CronTriggerTimetable("@daily", timezone="UTC"), assets=[FIRST]),
    **days(2),
):
    EmptyOperator(task_id="only")

with DAG("sched_makes_parts", schedule=PartitionedAtRuntime(), start_date=START):

    @task(outlets=[PARTED])
    def parts(*, outlet_events=None):
        outlet_events[PARTED].add_partitions(["a", "b"])

    parts()

with DAG("sched_on_parts", schedule=PartitionedAssetTimetable(assets=PARTED), start_date=START):
    BashOperator(task_id="shows", bash_command="echo {{ partition_key }}")
