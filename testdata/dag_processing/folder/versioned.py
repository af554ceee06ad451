"""Has a run with task instances before a later phase edits it: the edit makes a new version.

The DAGs differ in what the edit does to them.
"""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, DeadlineAlert, DeadlineReference, SyncCallback

with DAG("versioned_new", schedule="@daily", start_date=datetime(2024, 1, 1), catchup=True):
    BashOperator(task_id="only", bash_command="echo first")

with DAG("versioned_same", schedule="@daily", start_date=datetime(2024, 1, 1), catchup=True):
    BashOperator(task_id="only", bash_command="echo same")

with DAG("versioned_in_place", schedule="@daily", start_date=datetime(2024, 1, 1), catchup=True):
    BashOperator(task_id="only", bash_command="echo first")

with DAG(
    "versioned_deadline",
    schedule=None,
    deadline=DeadlineAlert(
        name="one",
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=datetime(2024, 1, 2) - datetime(2024, 1, 1),
        callback=SyncCallback("some.module.notify"),
    ),
):
    BashOperator(task_id="only", bash_command="true")
