"""A DAG whose tasks have templates of many kinds."""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, task

with DAG(
    "rendering",
    schedule="@daily",
    start_date=datetime(2020, 1, 1),
    catchup=False,
    params={"region": "north"},
    user_defined_macros={"twice": lambda text: f"{text}{text}"},
):
    BashOperator(
        task_id="many",
        bash_command="echo {{ ds }}\n  {{ params.region }} {{ twice('a') }} {{ data_interval_end | ds }}\n",
        env={"RUN": "{{ run_id }}", "TASK": "{{ ti.task_id }}", "ä": "{{ macros.ds_add(ds, 3) }}"},
        cwd="{{ var.value.get('folder', 'nowhere') }}",
    )
    BashOperator(task_id="secret", bash_command="{{ var.value.get('password') }} {{ conn.store.host }}")
    BashOperator(task_id="broken", bash_command="{{ nothing.at_all }}")
    BashOperator(task_id="pulls", bash_command="{{ ti.xcom_pull('many') }}")
    BashOperator.partial(task_id="several", cwd="{{ ds }}").expand(
        bash_command=["echo {{ ds }}", "echo {{ ti.map_index }}"]
    )

    @task
    def function(text, number: int):
        return text * number

    function("{{ ds_nodash }}", number=2)
