"""Callbacks of the DAG and of tasks, retries of every kind, executor configuration, weights, timeouts."""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG


def tell(context):
    print(context)


with DAG(
    "callbacks",
    schedule="*/15 * * * *",
    start_date=datetime(2024, 1, 1),
    end_date=datetime(2024, 12, 31),
    catchup=True,
    on_success_callback=tell,
    on_failure_callback=[tell, tell],
    dagrun_timeout=timedelta(hours=2),
    max_active_runs=3,
    max_active_tasks=7,
    max_consecutive_failed_dag_runs=4,
    render_template_as_native_obj=True,
    default_args={"on_failure_callback": tell, "retries": 2, "depends_on_past": True},
):
    BashOperator(
        task_id="everything",
        bash_command="true",
        on_execute_callback=tell,
        on_retry_callback=tell,
        on_success_callback=[tell],
        on_skipped_callback=tell,
        retry_delay=timedelta(seconds=90),
        retry_exponential_backoff=True,
        max_retry_delay=timedelta(hours=1),
        execution_timeout=timedelta(minutes=30),
        pool="a_pool_that_is_not_there",
        pool_slots=2,
        priority_weight=11,
        weight_rule="absolute",
        queue="slow",
        executor_config={"KubernetesExecutor": {"image": "x"}},
        trigger_rule="all_done",
        max_active_tis_per_dagrun=1,
        email=["a@example.org"],
        doc_md="About *this* task",
    )
