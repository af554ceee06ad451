"""In a folder outside of the bundle; the bundle has a link to the folder."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("in_linked_folder", schedule=None):
    EmptyOperator(task_id="only")
