"""A member of an archive, before the broken one: it is lost with that."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("zip_member", schedule=None, tags=["zip"]):
    EmptyOperator(task_id="only")
