"""For the rules in .airflowignore."""

from airflow.sdk import DAG

with DAG("regexp_skipped_here", schedule=None):
    pass
