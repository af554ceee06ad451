"""Broken at first; a later phase repairs it."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("broken_at_first", schedule=undefined_name):  # noqa: F821
    EmptyOperator(task_id="only")
