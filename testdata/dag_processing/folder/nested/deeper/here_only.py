"""Ignored by the file in its own folder."""

from airflow.sdk import DAG

with DAG("ignored_here_only", schedule=None):
    pass
