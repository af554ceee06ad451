"""Imports a module of its own bundle, which is on the search path."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from helpers.shared_words import GREETING, task_id

with DAG("imports_helper", schedule=None, description=GREETING):
    for number in range(2):
        BashOperator(task_id=task_id(number), bash_command="true")
