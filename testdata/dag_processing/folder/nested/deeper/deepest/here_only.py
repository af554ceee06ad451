"""Not ignored: the rule above is about its own folder."""

from airflow.sdk import DAG

with DAG("nested_deepest", schedule="@weekly"):
    pass
