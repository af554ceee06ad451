"""In another bundle."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("in_second_bundle", schedule=None):
    EmptyOperator(task_id="only")
