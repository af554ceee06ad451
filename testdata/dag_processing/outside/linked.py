"""Outside of the bundle; the bundle has a link to it."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("behind_a_link", schedule=None):
    EmptyOperator(task_id="only")
