"""An asset's name beyond ASCII: the parser refuses it where the database is MySQL or MariaDB."""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset

with DAG("asset_name_not_ascii", schedule=None):
    EmptyOperator(task_id="only", outlets=[Asset("größe", "s3://eimer/named")])
