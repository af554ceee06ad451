"""Speaks of airflow and of a DAG, and has none."""

NOTHING = None
