"""A run that fails, on purpose.

`check_total` raises an error. What needs it is not run (`upstream_failed`), what cleans up is. The
log of the task, whose path is shown when the run ends, has the traceback.
"""

from __future__ import annotations

from datetime import datetime

from airflow.sdk import DAG, task

with DAG(
    "example_failure",
    description="Fails on purpose, once",
    schedule="@once",
    start_date=datetime(2024, 1, 1),
    is_paused_upon_creation=False,
    tags=["ferroflow"],
):

    @task
    def check_total() -> None:
        expected, found = 100, 99
        if found != expected:
            raise ValueError(f"{expected} rows were expected, {found} were found")

    @task
    def publish() -> None:
        print("never printed")

    @task(trigger_rule="all_done")
    def clean_up() -> None:
        print("whatever happened before, this is done")

    checked = check_total()
    checked >> publish()
    checked >> clean_up()
