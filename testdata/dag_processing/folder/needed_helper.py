"""Ignored by one rule, and not ignored by a later one."""

from airflow.sdk import DAG

with DAG("ignored_and_not_ignored", schedule=None):
    pass
