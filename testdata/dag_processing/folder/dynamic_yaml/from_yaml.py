"""DAGs from a YAML file beside this one; a later phase edits only that file."""

from pathlib import Path

import pendulum
import yaml
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

for dag_id, described in yaml.safe_load(Path(__file__).with_name("dags.yaml").read_text()).items():
    with DAG(
        dag_id,
        schedule=described["schedule"],
        start_date=pendulum.parse(described["start"]),
        catchup=True,
        description=described.get("description"),
    ):
        previous = None
        for name, command in described["tasks"].items():
            current = BashOperator(task_id=name, bash_command=command)
            if previous is not None:
                previous >> current
            previous = current
