"""A file that cannot be imported: from airflow.sdk import DAG comes too late."""

raise ValueError("no such day:\n  Friday")
