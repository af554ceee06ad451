"""Events of the SDK: this Airflow cannot read what it makes of them, and says so. A sibling is well."""

import pendulum
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, EventsTimetable

with DAG("events_of_the_sdk", schedule=EventsTimetable(event_dates=[pendulum.datetime(2024, 5, 1)])):
    EmptyOperator(task_id="only")

with DAG("events_sibling", schedule=None):
    EmptyOperator(task_id="only")
