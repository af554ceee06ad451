"""Deleted in a later phase, and back in the one after it."""

from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset

with DAG(
    "deleted_later",
    schedule=[Asset("deleted_later_in", "s3://deleted/in")],
    start_date=datetime(2024, 1, 1),
    tags=["deleted"],
):
    EmptyOperator(task_id="only", outlets=[Asset("deleted_later_out", "s3://deleted/out")])
