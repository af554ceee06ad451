"""Mapped tasks, mapped groups, groups in groups, edges with labels, branches and sensors."""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.sensors.bash import BashSensor
from airflow.sdk import DAG, Label, TaskGroup, task, task_group

with DAG("mapped", schedule=None, start_date=datetime(2024, 1, 1)):

    @task
    def numbers() -> list[int]:
        return [1, 2, 3]

    @task(max_active_tis_per_dag=2, retries=3, retry_delay=timedelta(minutes=2))
    def double(number: int, factor: int) -> int:
        return number * factor

    @task
    def total(values: list[int]) -> int:
        return sum(values)

    @task_group
    def per_number(number: int):
        @task
        def inside(value: int) -> int:
            return value

        return inside(number)

    made = numbers()
    total(double.partial(factor=10).expand(number=made))
    per_number.expand(number=made)
    BashOperator.partial(task_id="literal", owner="mapper").expand(bash_command=["c", "b", "a"])
    BashOperator.partial(task_id="kwargs", bash_command="true").expand_kwargs(
        [{"env": {"A": "1"}}, {"env": {}}]
    )
    total.override(task_id="zipped")(double.partial(factor=1).expand(number=made.map(lambda one: one + 1)))

with DAG("groups", schedule=None):
    start = EmptyOperator(task_id="start")
    with TaskGroup("outer", tooltip="the outer one") as outer:
        first = EmptyOperator(task_id="first")
        with TaskGroup("inner", prefix_group_id=False, ui_color="#123456"):
            BashSensor(task_id="wait", bash_command="true", mode="reschedule", poke_interval=5)
    end = EmptyOperator(task_id="end", trigger_rule="none_failed_min_one_success")
    start >> Label("when it is time") >> outer >> end

    @task.branch
    def choose():
        return "end"

    @task.short_circuit
    def stop_here():
        return True

    choose() >> [end, stop_here()]
