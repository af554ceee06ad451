"""What is refused only after the import: an executor. Its sibling is well."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("bad_executor", schedule=None):
    EmptyOperator(task_id="only", executor="NoSuchExecutor")

with DAG("bad_not", schedule=None):
    EmptyOperator(task_id="only")
