"""A daily ETL with a retry and templates.

Airflow makes one run for each day. The first try of `extract` fails on purpose, as a server that is
just being restarted would make it fail: two seconds later it is tried again. Texts in double braces
are templates, which are filled in when the task runs.
"""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from pathlib import Path

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, get_current_context, task

FOLDER = Path(__file__).parent.parent / "data"

with DAG(
    "example_daily_sales",
    description="A daily ETL with a retry and templates",
    schedule="@daily",
    start_date=datetime(2024, 1, 1),
    is_paused_upon_creation=False,
    tags=["ferroflow"],
):

    @task(retries=2, retry_delay=timedelta(seconds=2))
    def extract() -> list[dict]:
        """What it returns is an XCom: the next task gets it as an argument."""
        if get_current_context()["ti"].try_number == 1:
            raise ConnectionError("the shop does not answer; it will in a moment")
        return [{"item": "tea", "sold": 3, "price": 4}, {"item": "cake", "sold": 2, "price": 5}]

    @task
    def transform(sales: list[dict]) -> list[dict]:
        return [{"item": sale["item"], "revenue": sale["sold"] * sale["price"]} for sale in sales]

    @task
    def load(rows: list[dict], day: str) -> str:
        """Writes the same file whenever it runs for the same day: it may be run again at any time."""
        FOLDER.mkdir(exist_ok=True)
        file = FOLDER / f"sales-{day}.csv"
        with file.open("w", newline="") as target:
            writer = csv.DictWriter(target, ["item", "revenue"])
            writer.writeheader()
            writer.writerows(rows)
        return str(file)

    tell = BashOperator(
        task_id="tell",
        bash_command="echo 'sales of {{ ds }}:' && cat '{{ ti.xcom_pull(task_ids=\"load\") }}'",
    )

    load(transform(extract()), day="{{ ds }}") >> tell
