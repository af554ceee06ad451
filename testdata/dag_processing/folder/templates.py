"""Templates in fields and in files, macros and filters, and a search path."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG(
    "templates",
    schedule=None,
    template_searchpath=["/nowhere/templates"],
    user_defined_macros={"answer": 42},
    user_defined_filters={"shout": str.upper},
    jinja_environment_kwargs={"keep_trailing_newline": True},
):
    BashOperator(task_id="inline", bash_command="echo {{ ds }} {{ answer | shout }}", env={"DAY": "{{ ds }}"})
    BashOperator(task_id="from_file", bash_command="scripts/report.sh")
    BashOperator(task_id="long", bash_command="echo " + "x" * 5000)
