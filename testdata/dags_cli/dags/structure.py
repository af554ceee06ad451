"""A DAG with everything that a picture of it shows."""

from datetime import datetime, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Label, TaskGroup, setup, task, task_group, teardown

with DAG("structure", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)):

    @setup
    def make_cluster():
        pass

    @teardown
    def drop_cluster():
        pass

    @task
    def count(number):
        return number

    @task_group
    def each(number):
        count.override(task_id="first")(number) >> EmptyOperator(task_id="second")

    begin = EmptyOperator(task_id="begin", task_display_name='The "beginning"')
    end = EmptyOperator(task_id="end", trigger_rule="none_failed_min_one_success")
    alone = EmptyOperator(task_id="alone")
    with TaskGroup("extract", tooltip="reads") as extract:
        with TaskGroup("inner") as inner:
            BashOperator(task_id="a", bash_command="true") >> BashOperator(task_id="b", bash_command="true")
        EmptyOperator(task_id="beside")
    with TaskGroup("load", prefix_group_id=False) as load:
        [EmptyOperator(task_id="left"), EmptyOperator(task_id="right")]

    begin >> Label("go & see") >> extract >> load >> Label("done") >> end
    cluster = make_cluster()
    counted = count.expand(number=[1, 2, 3])
    cluster >> counted >> drop_cluster().as_teardown(setups=cluster)
    begin >> each.expand(number=[1, 2])
