"""The import fails after one DAG was made: an import error, and no DAG at all from this file."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("broken_import_before", schedule=None):
    EmptyOperator(task_id="only")

import a_module_that_nobody_has  # noqa: F401
