"""A schedule that no day meets, beside one that is well."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("bad_cron", schedule="0 0 32 * *"):
    EmptyOperator(task_id="only")

with DAG("bad_cron_sibling", schedule="0 0 31 * *"):
    EmptyOperator(task_id="only")
