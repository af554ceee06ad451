"""Assets with watchers: of a DAG that runs, of one that is paused, and of one that is unpaused later."""

from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.triggers.file import FileDeleteTrigger
from airflow.sdk import DAG, Asset, AssetWatcher


def watched(name: str) -> Asset:
    trigger = FileDeleteTrigger(filepath=f"/nowhere/{name}", poke_interval=7.5)
    return Asset(f"watched_{name}", watchers=[AssetWatcher(name=f"watcher of {name}", trigger=trigger)])


for name, paused in (("running", False), ("paused", True), ("unpaused_later", True), ("paused_later", False)):
    with DAG(
        f"watching_{name}",
        schedule=[watched(name)],
        start_date=datetime(2024, 1, 1),
        is_paused_upon_creation=paused,
    ):
        EmptyOperator(task_id="only")
