"""For the rules in .airflowignore."""

from airflow.sdk import DAG

with DAG("regexp_deep_one_x", schedule=None):
    pass
