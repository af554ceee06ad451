"""What the cluster policy changes, skips and refuses."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

for name, tag in (("changed", "policed"), ("skipped", "skipped_by_policy"), ("refused", "refused_by_policy")):
    with DAG(f"policy_{name}", schedule=None, tags=[tag]):
        BashOperator(task_id="only", bash_command="true")
