"""State that tasks and assets keep."""

from datetime import timedelta

from airflow.sdk import DAG, NEVER_EXPIRE, Asset, task
from tracing import START

KEEPER = Asset("st_keeper", uri="x-test://bucket/keeper")
OTHER = Asset("st_other")
SOON = timedelta(seconds=0)

with DAG("store_task", schedule=None, start_date=START):

    @task(retries=1, retry_delay=SOON)
    def survives_retry(task_state_store=None, ti=None):
        seen = task_state_store.get("tries", default=[])
        task_state_store.set("tries", [*seen, ti.try_number], retention=NEVER_EXPIRE)
        task_state_store.set("short", {"ünï": [None, 1.5, True]}, retention=timedelta(hours=1))
        if ti.try_number == 1:
            raise ValueError("once")
        return task_state_store.get("tries")

    @task
    def all_types(task_state_store=None):
        values = {"number": 1, "text": "x", "false": False, "list": [], "dict": {"a": {}}, "float": 0.1}
        for key, value in values.items():
            task_state_store.set(key, value)
        task_state_store.set("deleted", "x")
        task_state_store.delete("deleted")
        task_state_store.delete("never there")
        return {
            "same": {key: task_state_store.get(key) for key in values} == values,
            "deleted": task_state_store.get("deleted"),
            "default": task_state_store.get("nothing", default="fallback"),
        }

    @task
    def none(task_state_store=None):
        task_state_store.set("none", None)

    @task
    def cleared(task_state_store=None):
        task_state_store.set("a", 1)
        task_state_store.clear()
        task_state_store.set("b", 2)

    @task
    def mapped(number, task_state_store=None):
        task_state_store.set("own", number)
        return task_state_store.get("own")

    @task
    async def awaited(task_state_store=None):
        await task_state_store.aset("awaited", 1)
        return await task_state_store.aget("awaited")

    survives_retry()
    all_types()
    none()
    cleared()
    mapped.expand(number=[1, 2])
    awaited()

with DAG("store_asset", schedule=None, start_date=START):

    @task(inlets=[KEEPER, OTHER], outlets=[KEEPER])
    def keep(asset_state_store=None):
        store = asset_state_store[KEEPER]
        store.set("watermark", "2026-01-05")
        store.set("total", store.get("total", default=0) + 1)
        store.set("gone", 1)
        store.delete("gone")
        asset_state_store[OTHER].set("other", {"a": 1})
        return [store.get("watermark"), store.get("gone"), asset_state_store[OTHER].get("other")]

    @task(inlets=[KEEPER])
    def read(asset_state_store=None):
        return [asset_state_store.get("watermark"), asset_state_store[KEEPER].get("total")]

    @task(inlets=[KEEPER])
    def not_mine(asset_state_store=None):
        return asset_state_store[OTHER].get("other")

    keep() >> read()
    not_mine()
