"""A thousand tasks in layers."""

from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

WIDTH, DEPTH = 20, 50
with DAG("large", schedule="@daily", start_date=datetime(2024, 1, 1), catchup=True):
    before = []
    for layer in range(DEPTH):
        tasks = [EmptyOperator(task_id=f"layer_{layer:02}_{column:02}") for column in range(WIDTH)]
        for index, one in enumerate(before):
            one >> [tasks[index], tasks[(index + 1) % WIDTH]]
        before = tasks
