"""Values that differ at every parse, which would make a version of each: a warning tells so."""

import random
from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

SEED = random.Random(7).random()

# A fixed moment in the end, so that the document is the same at every parse; only the look of it varies.
with DAG(
    "varying_values",
    schedule=None,
    start_date=datetime.now().replace(2024, 1, 1, hour=0, minute=0, second=0, microsecond=0),
):
    BashOperator(task_id="only", bash_command=f"echo {SEED}")

with DAG("varying_not", schedule=None, start_date=datetime(2024, 1, 1) + timedelta(days=1)):
    BashOperator(task_id="only", bash_command="true")
