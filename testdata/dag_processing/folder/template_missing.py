"""A template file that is not there."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG("template_missing", schedule=None):
    BashOperator(task_id="only", bash_command="scripts/not_there.sh")
