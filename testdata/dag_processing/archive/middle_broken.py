"""A member of the archive that cannot be imported: airflow, DAG."""

raise ValueError("this member is broken")
