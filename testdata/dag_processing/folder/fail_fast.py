"""Fails fast."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("fail_fast", schedule=None, fail_fast=True):
    EmptyOperator(task_id="only")
