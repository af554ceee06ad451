"""Documentation from a text and from a file, and only some kinds of runs allowed."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("documented", schedule=None, doc_md=__doc__, allowed_run_types=["manual"]):
    EmptyOperator(
        task_id="only", doc_md="# Task", doc_json='{"a": 1}', doc_yaml="a: 1", doc_rst="a", doc="plain"
    )

with DAG("documented_by_file", schedule=None, doc_md="words.md"):
    EmptyOperator(task_id="only")
