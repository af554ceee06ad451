"""Named in .airflowignore."""

from airflow.sdk import DAG

with DAG("ignored_by_name", schedule=None):
    pass
