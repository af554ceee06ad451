"""A schedule that no cron expression can say: at 06:00 and at 16:30.

The timetable is a class in `ferroflow_example_timetables.py`, in the folder `plugins` beside this
one. Your own go into a file in $AIRFLOW_HOME/plugins, which names them in the same way.
"""

from __future__ import annotations

from datetime import datetime

from airflow.sdk import DAG, get_current_context, task
from ferroflow_example_timetables import UnevenHoursTimetable

with DAG(
    "example_uneven_hours",
    description="Runs at 06:00 and 16:30 UTC, by a timetable of its own",
    schedule=UnevenHoursTimetable(),
    start_date=datetime(2024, 1, 1),
    is_paused_upon_creation=False,
    tags=["ferroflow"],
):

    @task
    def show_interval() -> None:
        context = get_current_context()
        print(f"this run is for what came in from {context['data_interval_start']}")
        print(f"                               to {context['data_interval_end']}")

    show_interval()
