"""Two DAGs, one of which has the name of a DAG in two_dags.py."""

from airflow.sdk import DAG

here = DAG("in_the_same_file", schedule=None)
there = DAG("local_hourly", schedule=None)
