"""A timetable that has no answer, beside DAGs that are well."""

from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from other_timetables import FailingTimetable

with DAG("timetable_failing", schedule=FailingTimetable(), start_date=datetime(2024, 1, 1), catchup=True):
    EmptyOperator(task_id="only")

with DAG("timetable_failing_sibling", schedule="@daily", start_date=datetime(2024, 1, 1), catchup=True):
    EmptyOperator(task_id="only")
