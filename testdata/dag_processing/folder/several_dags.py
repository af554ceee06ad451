"""Several DAGs in one file, one of which goes away later; `with`, decorator and no context at all."""

from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, dag, task

with DAG("several_first", start_date=datetime(2024, 1, 1), schedule="@daily", catchup=True):
    EmptyOperator(task_id="only")


@dag(start_date=datetime(2024, 1, 1), schedule=None, tags=["a", "b"])
def several_second():
    @task(owner="somebody")
    def one() -> int:
        return 1

    @task(owner="somebody else")
    def two(number: int) -> int:
        return number + 1

    two(one())


several_second()

# removed in a later phase
third = DAG("several_third", start_date=datetime(2024, 1, 1), schedule="@hourly", catchup=True)
EmptyOperator(task_id="first", dag=third) >> EmptyOperator(task_id="second", dag=third)
# up to here
