"""A link of an owner that is none."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("bad_owner_link", schedule=None, owner_links={"airflow": "no link at all"}):
    EmptyOperator(task_id="only")
