"""Paused and not paused from the beginning; later phases change that with an UPDATE."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

for paused in (True, False, None):
    with DAG(f"paused_upon_creation_{paused}".lower(), schedule=None, is_paused_upon_creation=paused):
        EmptyOperator(task_id="only")
