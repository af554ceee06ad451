"""The DAG files that `record_assets.py` stores, one after the other."""

from datetime import datetime, timedelta, timezone

from airflow.sdk import (
    DAG,
    Asset,
    AssetAlias,
    AssetAll,
    AssetAny,
    AssetOrTimeSchedule,
    AssetWatcher,
    BaseOperator,
    CronTriggerTimetable,
)
from airflow.sdk.definitions.asset import AssetNameRef, AssetUriRef
from airflow.sdk.definitions.asset.access_control import AssetAccessControl
from airflow.sdk.definitions.timetables.assets import PartitionedAssetTimetable
from airflow.triggers.base import BaseEventTrigger


class Task(BaseOperator):
    def __init__(self, *, word=None, **kwargs):
        super().__init__(**kwargs)
        self.word = word


class Queue(BaseEventTrigger):
    def __init__(self, **kwargs):
        super().__init__()
        self.kwargs = kwargs

    def serialize(self):
        return "site.triggers.Queue", self.kwargs

    async def run(self):
        yield None


def histories() -> dict[str, list[dict]]:
    return {
        "assets": assets(),
        "aliases": aliases(),
        "references": references(),
        "conditions": conditions(),
        "conflicts": conflicts(),
        "watchers": watchers(),
        "shared triggers": shared_triggers(),
        "teams": teams(),
        "stale": stale(),
    }


def step(name: str, *dags: DAG, before: tuple[str, ...] = (), **more) -> dict:
    return {"name": name, "dags": dags, "before": list(before)} | more


def dag(dag_id: str, schedule=None, inlets=(), outlets=(), mapped_inlets=(), mapped_outlets=()) -> DAG:
    with DAG(dag_id, schedule=schedule) as made:
        Task(task_id="plain", inlets=list(inlets), outlets=list(outlets))
        if mapped_inlets or mapped_outlets:
            mapped = Task.partial(task_id="mapped", inlets=list(mapped_inlets), outlets=list(mapped_outlets))
            mapped.expand(word=[1, 2])
    return made


def assets() -> list[dict]:
    a, b, c = (Asset(name, uri=f"s3://bucket/{name}") for name in "abc")
    changed = Asset("a", uri="s3://bucket/a", group="gold", extra={"owner": "é", "rows": [1, 2.5, None]})
    queue = (
        "INSERT INTO asset_dag_run_queue (asset_id, target_dag_id, created_at)"
        " SELECT id, 'consumer', '2026-01-01 00:00:00.000000' FROM asset WHERE name IN ('a', 'b')"
    )
    return [
        step("new", dag("consumer", [a, b]), dag("producer", None, [b], [a], [a], [b, c])),
        step("again", dag("consumer", [a, b]), dag("producer", None, [b], [a], [a], [b, c])),
        step(
            "group and extra", dag("consumer", [changed, b]), dag("producer", None, [b], [changed], [], [c])
        ),
        step("one less to wait for", dag("consumer", [a]), dag("producer", None, [], [a]), before=(queue,)),
        step("described twice", dag("consumer", [a]), dag("producer", None, [], [changed])),
        step("only one still has assets", dag("consumer"), dag("producer", None, [c])),
        step("none has any", dag("consumer"), dag("producer")),
    ]


def aliases() -> list[dict]:
    x, y, a = AssetAlias("x"), AssetAlias("y", group="g"), Asset("a")
    return [
        step("new", dag("consumer", [x, a]), dag("producer", None, [y], [x])),
        step("group", dag("consumer", [AssetAlias("x", group="gold"), y, a])),
        step("one less", dag("consumer", [y, a])),
        step("none", dag("consumer", [a])),
        step("no condition", dag("consumer")),
    ]


def references() -> list[dict]:
    n, m, u = AssetNameRef("n"), AssetNameRef("m"), AssetUriRef("s3://bucket/u")
    return [
        step("new", dag("one", AssetAny(n, u)), dag("two", AssetAll(m, n))),
        step("fewer", dag("one", AssetAny(n, u)), dag("two", AssetAny(m))),
        step("none in one", dag("one", Asset("a")), dag("two", AssetAny(m))),
        step("none", dag("one"), dag("two")),
    ]


def conditions() -> list[dict]:
    a, b, x, n = Asset("a"), Asset("b", uri="s3://bucket/b"), AssetAlias("x"), AssetNameRef("n")
    cron = CronTriggerTimetable("0 0 * * *", timezone="UTC")
    return [
        step("nested", dag("one", AssetAny(a, AssetAll(b, AssetAny(x, n))))),
        step("or time", dag("one", AssetOrTimeSchedule(timetable=cron, assets=(a | b)))),
        step("partitioned", dag("one", PartitionedAssetTimetable(assets=AssetAll(a, b)))),
        step("time", dag("one", cron)),
        step("again", dag("one", a), dag("two", None, [a & b], [b])),
    ]


def conflicts() -> list[dict]:
    a, other_uri, other_name = Asset("a", uri="s3://1"), Asset("a", uri="s3://2"), Asset("b", uri="s3://1")
    return [
        step("first", dag("one", [a])),
        step("same name, same URI", dag("two", [other_uri]), dag("three", None, [], [other_name])),
        step("free again", dag("two", [other_uri]), before=("DELETE FROM asset_active",)),
        step("at once", dag("four", [Asset("z", uri="s3://9"), Asset("z", uri="s3://8")])),
    ]


def watched(name: str, *triggers: tuple[str, dict]) -> Asset:
    return Asset(name, watchers=[AssetWatcher(name=key, trigger=Queue(**kw)) for key, kw in triggers])


def watchers() -> list[dict]:
    rich = {
        "word": "é",
        "number": 1.5,
        "at": datetime(2026, 1, 1, tzinfo=timezone.utc),
        "wait": timedelta(seconds=90),
        "pair": (1, 2),
        "many": {"b", "a"},
        "inside": {"list": [1, {"k": "v"}], "none": None},
        "list": ["a", 1, None],
    }
    one, two = ("w", {"queue": "1"}), ("v", {"queue": "2"})
    return [
        step("new", dag("consumer", [watched("a", one, two)])),
        step("again", dag("consumer", [watched("a", one, two)])),
        step("another argument", dag("consumer", [watched("a", one, ("v", {"queue": "3"}))])),
        step("another argument again", dag("consumer", [watched("a", one, ("v", {"queue": "3"}))])),
        step("every type", dag("consumer", [watched("a", ("w", rich))])),
        step("every type again", dag("consumer", [watched("a", ("w", rich))])),
        step("paused", dag("consumer", [watched("a", one)]), before=("UPDATE dag SET is_paused = true",)),
        step("unpaused", dag("consumer", [watched("a", one)]), before=("UPDATE dag SET is_paused = false",)),
        step("only produced", dag("producer", None, [], [watched("b", one)])),
        step("not scheduled", dag("consumer", None, [], [watched("a", one)])),
        step("scheduled again", dag("consumer", [watched("a", one)])),
        step("no longer waited for", dag("consumer", [Asset("c")])),
        step("another file with none", dag("other")),
    ]


def shared_triggers() -> list[dict]:
    one, two = ("w", {"queue": "1"}), ("v", {"queue": "1"})
    return [
        step("two assets", dag("consumer", [watched("a", one), watched("b", two)])),
        step("another file", dag("other", [watched("c", one)])),
        step("two names for one", dag("third", [watched("d", one, two)])),
    ]


def teams() -> list[dict]:
    def guarded(**rules) -> Asset:
        return Asset("a", access_control=AssetAccessControl(**rules))

    return [
        step("none", dag("consumer", [Asset("a")]), dag("producer", None, [], [Asset("a")])),
        step(
            "both",
            dag("consumer", [guarded(producer_teams=["red"], allow_global=False)]),
            dag("producer", None, [], [guarded(consumer_teams=["blue"])]),
        ),
        step(
            "fewer", dag("consumer", [guarded(allow_global=False)]), dag("producer", None, [], [Asset("a")])
        ),
        step("none again", dag("consumer", [Asset("a")]), dag("producer", None, [], [Asset("a")])),
    ]


def stale() -> list[dict]:
    everything = [Asset("a"), AssetAlias("x"), AssetNameRef("n"), AssetUriRef("u")]
    gone = "UPDATE dag SET is_stale = true WHERE dag_id = 'gone'"
    return [
        step(
            "both",
            dag("gone", everything, [Asset("a")], [Asset("b")]),
            dag("stays", everything, [], [Asset("b")]),
        ),
        step("one is stale", before=(gone,), is_removing_stale=True),
        step("back", dag("gone", everything, [Asset("a")], [Asset("b")])),
    ]
