"""A cycle: refused after the import, beside a DAG that is well."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("cycle", schedule=None):
    first, second, third = (EmptyOperator(task_id=name) for name in ("first", "second", "third"))
    first >> second >> third >> first

with DAG("cycle_sibling", schedule=None):
    EmptyOperator(task_id="only")
