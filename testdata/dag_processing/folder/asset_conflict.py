"""Two assets of one name: both are rows, one of them is active."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset

with DAG("asset_conflict", schedule=None):
    EmptyOperator(task_id="first", outlets=[Asset("conflicting", "s3://conflict/a")])
    EmptyOperator(task_id="second", outlets=[Asset("conflicting", "s3://conflict/b")])
