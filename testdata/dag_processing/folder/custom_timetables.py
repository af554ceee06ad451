"""Timetables of plugins. The first is that of a guide for Airflow 2, whose class is word for word the same;
its DAG said `timetable=`, which 3.x does not know, so here it says `schedule=`.
"""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from other_timetables import EveryFewDays
from uneven_intervals_timetable import UnevenIntervalsTimetable

with DAG(
    dag_id="example_timetable_dag",
    start_date=datetime(2021, 10, 9),
    max_active_runs=1,
    schedule=UnevenIntervalsTimetable(),
    default_args={
        "retries": 1,
        "retry_delay": timedelta(minutes=3),
    },
    catchup=True,
) as dag:
    EmptyOperator(task_id="only")

with DAG("every_few_days", schedule=EveryFewDays(3), start_date=datetime(2024, 1, 1), catchup=True):
    EmptyOperator(task_id="only")
