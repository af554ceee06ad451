"""In a folder that is ignored."""

from airflow.sdk import DAG

with DAG("ignored_by_folder", schedule=None):
    pass
