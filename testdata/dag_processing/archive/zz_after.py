"""A member of an archive, after the broken one: it is stored."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("zip_member_after", schedule=None, tags=["zip"]):
    EmptyOperator(task_id="only")
