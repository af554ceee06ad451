"""The DAGs of a site on which commands are tried."""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, Param, task

SALES = Asset("sales", uri="s3://sales/north", extra={"region": "north"})

with DAG("daily", schedule="@daily", start_date=datetime(2020, 1, 1), catchup=False, tags=["reports", "day"]):
    begin = BashOperator(task_id="begin", bash_command="echo {{ ds }}", retries=2, pool="narrow")
    left = EmptyOperator(task_id="left", retry_delay=timedelta(minutes=1))
    right = EmptyOperator(task_id="right", depends_on_past=True)
    end = EmptyOperator(task_id="end", trigger_rule="all_done", priority_weight=5)
    begin >> [left, right] >> end

with DAG(
    "by_hand",
    schedule=None,
    default_args={"start_date": datetime(2020, 3, 1), "owner": "somebody"},
    params={"size": Param(5, type="integer", minimum=1), "name": "x"},
):
    EmptyOperator(task_id="only")

with DAG("mapped", schedule=None):

    @task
    def each(number: int):
        return number

    each.expand(number=[1, 2, 3])

with DAG(
    "sales_north", schedule="0 6 * * *", start_date=datetime(2020, 1, 1), catchup=True, max_active_runs=2
):
    EmptyOperator(task_id="sell", outlets=[SALES])

with DAG("sales_south", schedule="@hourly", start_date=datetime(2020, 1, 1), catchup=False):
    EmptyOperator(task_id="sell")

with DAG("consumer", schedule=[SALES, Asset("stock", group="goods")]):
    EmptyOperator(task_id="count")

with DAG("cluster", schedule=None):
    make = EmptyOperator(task_id="make").as_setup()
    other = EmptyOperator(task_id="other").as_setup()
    work = EmptyOperator(task_id="work")
    more = EmptyOperator(task_id="more")
    drop = EmptyOperator(task_id="drop").as_teardown(setups=make)
    undo = EmptyOperator(task_id="undo").as_teardown(setups=other)
    make >> work >> drop
    work >> more >> drop
    other >> more >> undo
