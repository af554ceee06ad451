"""Two DAGs that know nothing of each other but an asset.

When a task that has the asset among its `outlets` succeeds, every DAG that is scheduled by the
asset gets a run.
"""

from __future__ import annotations

from datetime import datetime

from airflow.sdk import DAG, Asset, task

ORDERS = Asset("example_orders")

with DAG(
    "example_orders_arrive",
    description="Updates an asset every day",
    schedule="@daily",
    start_date=datetime(2024, 1, 1),
    is_paused_upon_creation=False,
    tags=["ferroflow"],
):

    @task(outlets=[ORDERS])
    def receive() -> int:
        return 42

    receive()

with DAG(
    "example_orders_report",
    description="Runs whenever the asset was updated",
    schedule=[ORDERS],
    is_paused_upon_creation=False,
    tags=["ferroflow"],
):

    @task
    def report(triggering_asset_events=None) -> None:
        for asset, events in (triggering_asset_events or {}).items():
            print(f"{asset}: updated {len(events)} times")

    report()
