"""Has assets, aliases and references at first; a later phase takes all of them away."""

from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, AssetAlias

condition = Asset("dropped_in") | AssetAlias("dropped_alias") | Asset.ref(name="dropped_name")
with DAG("assets_dropped", schedule=condition, start_date=datetime(2024, 1, 1)):
    EmptyOperator(task_id="only", inlets=[Asset("dropped_in")], outlets=[Asset("dropped_out")])
