"""A later phase adds a comment and nothing else: the source changes, the version does not."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("comment_only", schedule=None):
    EmptyOperator(task_id="only")
