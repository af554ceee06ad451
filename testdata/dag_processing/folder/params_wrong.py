"""A schedule, and a param without a value: refused."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Param

with DAG("params_wrong", schedule="@daily", params={"required": Param(type="string")}):
    BashOperator(task_id="only", bash_command="true")
