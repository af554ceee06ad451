"""Ignored by a pattern."""

from airflow.sdk import DAG

with DAG("ignored_by_pattern", schedule=None):
    pass
