"""A file of Airflow without any DAG."""
