"""DAGs made in a loop, and one that nothing but the registry of open contexts knows."""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

for number in range(5):
    with DAG(
        f"dynamic_loop_{number}",
        start_date=datetime(2024, 1, 1 + number),
        schedule=timedelta(hours=number + 1),
        catchup=True,
        tags=[f"number {number}"],
    ):
        for step in range(number + 1):
            BashOperator(task_id=f"step_{step}", bash_command=f"echo {step}")


def hidden():
    with DAG("dynamic_hidden", schedule=None):
        BashOperator(task_id="only", bash_command="true")


hidden()
