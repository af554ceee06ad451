"""The ignore file names this DAG of Airflow."""

raise RuntimeError("not to be imported")
