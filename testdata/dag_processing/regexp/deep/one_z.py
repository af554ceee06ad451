"""For the rules in .airflowignore of this folder."""

from airflow.sdk import DAG

with DAG("regexp_deep_one_z", schedule=None):
    pass
