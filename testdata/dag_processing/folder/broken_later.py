"""Good at first; a later phase breaks it, and the one after that repairs it."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("broken_later", schedule=None, tags=["kept"]):
    EmptyOperator(task_id="only")
