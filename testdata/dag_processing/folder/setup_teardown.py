"""Setups and teardowns, and a teardown that is wrong."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, setup, task, teardown

with DAG("setup_teardown", schedule=None):
    create = BashOperator(task_id="create", bash_command="true").as_setup()
    work = BashOperator(task_id="work", bash_command="true")
    remove = BashOperator(task_id="remove", bash_command="true").as_teardown(
        setups=create, on_failure_fail_dagrun=True
    )
    create >> work >> remove

    @setup
    def open_it():
        pass

    @teardown
    def close_it():
        pass

    @task
    def use_it():
        pass

    with open_it() >> close_it():
        use_it()
