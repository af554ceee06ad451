"""A URI that the database refuses, though not the parser: official Airflow stores half of this DAG."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset

with DAG("asset_uri_not_ascii", schedule=None):
    EmptyOperator(task_id="only", outlets=[Asset("not_ascii", "s3://eimer/größe")])
