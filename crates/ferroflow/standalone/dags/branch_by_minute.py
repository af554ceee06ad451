"""A run that takes one of two ways.

Every five minutes `choose` returns the name of the task to go on with. The other one is skipped,
and `join` runs whichever it was.
"""

from __future__ import annotations

from datetime import datetime

from airflow.sdk import DAG, get_current_context, task

with DAG(
    "example_branch_by_minute",
    description="One of two ways, every five minutes",
    schedule="*/5 * * * *",
    start_date=datetime(2024, 1, 1),
    is_paused_upon_creation=False,
    tags=["ferroflow"],
):

    @task.branch
    def choose() -> str:
        minute = get_current_context()["logical_date"].minute
        return "first_half" if minute < 30 else "second_half"

    @task
    def first_half() -> None:
        print("the hour is young")

    @task
    def second_half() -> None:
        print("the hour is old")

    @task(trigger_rule="none_failed_min_one_success")
    def join() -> None:
        print("both ways end here")

    choose() >> [first_half(), second_half()] >> join()
