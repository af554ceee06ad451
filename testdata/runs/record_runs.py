"""Record which runs the installed Airflow would create and start, to runs.json.gz.

Random rows go into a throw-away SQLite database, and Airflow's own queries and evaluators are asked:

- `conditions`: whether conditions on assets are met (AssetEvaluator);
- `windows`: whether enough keys of a window have come (the wait policies of partition mappers);
- `creations`: which DAGs get a run, and whether a schedule or assets ask for it
  (DagModel.dags_needing_dagruns);
- `starts`: which queued runs start (DagRun.get_queued_dag_runs_to_set_running).

The last two answer with a few rows at a time. What they give is applied, and they are asked again until
nothing more comes: so what is recorded does not depend on the order in which Airflow takes rows.

    <venv>/bin/python testdata/runs/record_runs.py
"""

import gzip
import json
import os
import random
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

SEED = 20261116
FILE = Path(__file__).with_name("runs.json.gz")
# The queries compare with the clock of the database: what is due was so long ago, and what is not, never is.
PAST = datetime(2024, 1, 1, tzinfo=timezone.utc)
FUTURE = datetime(2999, 1, 1, tzinfo=timezone.utc)


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
            del os.environ[name]
        os.environ["AIRFLOW_HOME"] = home
        os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = f"sqlite:///{home}/airflow.db"
        os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "ERROR"
        create_tables()
        kinds = {"conditions": (conditions, 60), "windows": (window, 300)}
        kinds |= {"creations": (creation, 80), "starts": (start, 150)}
        recorded = {}
        for kind, (ask, count) in kinds.items():
            recorded[kind] = [ask(random.Random(f"{SEED} {kind} {number}")) for number in range(count)]
    text = json.dumps(recorded, sort_keys=True, separators=(",", ":")).encode()
    if not FILE.exists() or gzip.decompress(FILE.read_bytes()) != text:
        # Another zlib may compress the same differently.
        FILE.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))


def create_tables() -> None:
    import airflow.models  # noqa: F401
    from airflow import settings
    from airflow.models.base import Base
    from airflow.utils.db import import_all_models

    import_all_models()
    Base.metadata.create_all(settings.engine)


def empty_session():
    """A session on a database without rows."""
    from airflow import settings
    from airflow.models.base import Base
    from sqlalchemy import text

    session = settings.Session()
    session.execute(text("PRAGMA synchronous=OFF"))
    for table in Base.metadata.tables.values():
        session.execute(table.delete())
    session.commit()
    # Rows stand for themselves here: no bundles, no versions of DAGs.
    session.execute(text("PRAGMA foreign_keys=OFF"))
    return session


# Conditions on assets


def conditions(rng: random.Random) -> dict:
    from airflow.assets.evaluation import AssetEvaluator
    from airflow.serialization.decoders import decode_asset_like
    from airflow.serialization.definitions.assets import SerializedAssetUniqueKey

    session = empty_session()
    world = add_assets(session, rng)
    keys = [SerializedAssetUniqueKey(asset["name"], asset["uri"]) for asset in world["assets"]]
    cases = []
    for _ in range(10):
        condition = random_condition(rng, world, depth=3)
        there = [number for number in range(len(keys)) if rng.random() < 0.5]
        # One that is known not to be there is as one that is not known.
        told = [number for number in range(len(keys)) if number in there or rng.random() < 0.3]
        statuses = {keys[number]: number in there for number in told}
        met = AssetEvaluator(session).run(decode_asset_like(condition), statuses)
        cases.append({"condition": condition, "there": there, "met": met})
    session.rollback()
    session.close()
    return world | {"cases": cases}


def add_assets(session, rng: random.Random) -> dict:
    """Assets that share names or URIs, of which only one each is active; and aliases for some of them."""
    from airflow.models.asset import AssetActive, AssetAliasModel, AssetModel

    pairs = [(f"n{name}", f"s3://u{uri}/") for name in range(3) for uri in range(3)]
    pairs = rng.sample(pairs, 5)
    models = [AssetModel(id=number, name=name, uri=uri) for number, (name, uri) in enumerate(pairs, 1)]
    session.add_all(models)
    session.flush()
    active, names, uris = [], set(), set()
    for number, (name, uri) in enumerate(pairs):
        if name not in names and uri not in uris and rng.random() < 0.8:
            names.add(name)
            uris.add(uri)
            active.append(number)
            session.add(AssetActive(name=name, uri=uri))
    aliases = {}
    for number in range(2):
        linked = [number for number in range(len(pairs)) if rng.random() < 0.4]
        alias = AssetAliasModel(name=f"alias{number}")
        alias.assets.extend(models[asset] for asset in linked)
        session.add(alias)
        aliases[alias.name] = linked
    session.flush()
    assets = [{"name": name, "uri": uri} for name, uri in pairs]
    return {"assets": assets, "active": active, "aliases": aliases}


def random_condition(rng: random.Random, world: dict, depth: int) -> dict:
    kind = rng.choice(["asset", "asset", "alias", "ref"] + ["all", "any"] * (2 if depth else 0))
    if kind in ("all", "any"):
        objects = [random_condition(rng, world, depth - 1) for _ in range(rng.choice([0, 1, 2, 2, 3, 3]))]
        return {"__type": f"asset_{kind}", "objects": objects}
    if kind == "alias":
        return {"__type": "asset_alias", "name": f"alias{rng.randrange(3)}", "group": "asset"}
    asset = rng.choice(world["assets"])
    if kind == "ref":
        field = rng.choice(["name", "uri"])
        return {"__type": "asset_ref", field: asset[field]}
    return {"__type": "asset", **asset, "group": "asset", "extra": {}}


# Windows of partitions


def window(rng: random.Random) -> dict:
    from airflow.partition_mappers.wait_policy import MinimumCount, WaitForAll

    keys = [f"k{number}" for number in range(6)]
    expected = {key for key in keys if rng.random() < 0.6}
    received = {key for key in keys if rng.random() < 0.6}
    count = rng.choice([None, -7, -3, -2, -1, 1, 2, 3, 4, 7])
    policy = WaitForAll() if count is None else MinimumCount(count)
    answer = policy.is_satisfied_by_keys(matched=received, expected=expected)
    return {
        "expected": sorted(expected),
        "received": sorted(received),
        "at_least": count,
        "enough": answer.satisfied and not answer.unreachable,
        "unreachable": answer.unreachable,
    }


# Runs to create


def creation(rng: random.Random) -> dict:
    from airflow.models.asset import AssetDagRunQueue
    from airflow.models.dag import DagModel
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.serialization.decoders import decode_asset_like

    session = empty_session()
    world = add_assets(session, rng)
    dags = [random_dag(rng, world, f"d{number:02}") for number in range(rng.randint(4, 12))]
    for dag in dags:
        add_dag(session, dag)
    session.commit()

    def latest(dag_ids, session):
        known = {dag["dag_id"]: decode_asset_like(dag["condition"]) for dag in dags if dag["condition"]}
        timetables = {dag_id: SimpleNamespace(asset_condition=known[dag_id]) for dag_id in dag_ids}
        latest = {dag_id: SimpleNamespace(timetable=timetable) for dag_id, timetable in timetables.items()}
        return [SimpleNamespace(dag_id=dag_id, dag=dag) for dag_id, dag in latest.items()]

    SerializedDagModel.get_latest_serialized_dags = latest
    DagModel.NUM_DAGS_PER_DAGRUN_QUERY = rng.randint(1, 4)
    chosen = []
    while True:
        rows, triggered = DagModel.dags_needing_dagruns(session)
        rows = rows.all()
        if not rows:
            break
        for row in rows:
            at = triggered.get(row.dag_id)
            chosen.append({"dag_id": row.dag_id, "triggered": at and seconds(at)})
            if at is None:
                row.next_dagrun_create_after = None
            else:
                session.query(AssetDagRunQueue).filter_by(target_dag_id=row.dag_id).delete()
        session.commit()
        session.expire_all()
    session.flush()
    left = {dag_id for (dag_id,) in session.query(AssetDagRunQueue.target_dag_id)}
    had = {dag["dag_id"] for dag in dags if dag["queued"]}
    session.close()
    taken = {one["dag_id"] for one in chosen if one["triggered"] is not None}
    chosen.sort(key=lambda one: (one["dag_id"], one["triggered"] or 0))
    return world | {"dags": dags, "created": chosen, "outdated": sorted(had - left - taken)}


def random_dag(rng: random.Random, world: dict, dag_id: str) -> dict:
    queued = rng.sample(range(len(world["assets"])), rng.choice([0, 0, 1, 2, 3]))
    active, backfill = rng.choice([0, 0, 1, 2]), rng.choice([0, 0, 0, 1, 2])
    condition = random_condition(rng, world, depth=2)
    return {
        "dag_id": dag_id,
        "is_paused": rng.random() < 0.1,
        "is_stale": rng.random() < 0.1,
        "has_import_errors": rng.random() < 0.1,
        "max_active_runs": rng.choice([0, 1, 1, 2, 3, 16]),
        "active": active,
        "active_backfill": backfill,
        "due": rng.choice([None, rng.randrange(1000), rng.randrange(1000), "future"]),
        "condition": condition if rng.random() < 0.8 else None,
        "queued": [{"asset": asset, "at": rng.randrange(1000)} for asset in queued],
    }


def add_dag(session, dag: dict) -> None:
    from airflow.models.asset import AssetDagRunQueue
    from airflow.models.dag import DagModel

    due = dag["due"]
    after = due if due is None else FUTURE if due == "future" else PAST + timedelta(seconds=due)
    row = DagModel(dag_id=dag["dag_id"], bundle_name="bundle", max_active_runs=dag["max_active_runs"])
    row.is_paused, row.is_stale, row.has_import_errors = (
        dag[name] for name in ("is_paused", "is_stale", "has_import_errors")
    )
    row.next_dagrun_create_after = after
    row.exceeds_max_non_backfill = dag["active"] >= dag["max_active_runs"]
    row.asset_expression = dag["condition"]
    session.add(row)
    session.flush()
    for number in range(dag["active"] + dag["active_backfill"]):
        kind = "scheduled" if number < dag["active"] else "backfill"
        add_run(session, dag["dag_id"], f"{kind}{number}", ("queued", "running")[number % 2], kind, PAST)
    for one in dag["queued"]:
        at = PAST + timedelta(seconds=one["at"])
        session.add(AssetDagRunQueue(asset_id=one["asset"] + 1, target_dag_id=dag["dag_id"], created_at=at))
    session.flush()


def add_run(session, dag_id: str, run_id: str, state: str, kind: str, run_after: datetime, backfill=None):
    from airflow.models.dagrun import DagRun

    run = DagRun(dag_id=dag_id, run_id=run_id, run_type=kind, state=state, run_after=run_after)
    run.backfill_id = backfill
    run.log_template_id = None
    session.add(run)
    session.flush()
    return run


# Runs to start


def start(rng: random.Random) -> dict:
    from airflow.models.backfill import BackfillDagRun
    from airflow.models.dagrun import DagRun

    session = empty_session()
    dags = [
        {
            "dag_id": f"d{number}",
            "is_paused": rng.random() < 0.15,
            "is_stale": rng.random() < 0.15,
            "max_active_runs": rng.choice([0, 1, 1, 2, 3, 16]),
        }
        for number in range(rng.randint(1, 5))
    ]
    backfills = [
        {
            "id": number,
            "dag_id": rng.choice(dags)["dag_id"],
            "is_paused": rng.random() < 0.2,
            "max_active_runs": rng.choice([0, 1, 2, 2, 3]),
        }
        for number in range(1, rng.randint(1, 5))
    ]
    add_dags_and_backfills(session, dags, backfills)
    runs = random_runs(rng, dags, backfills)
    for run in runs:
        at = FUTURE if run["after"] == "future" else PAST + timedelta(seconds=run["after"])
        kind = "backfill" if run["backfill"] else "scheduled"
        row = add_run(session, run["dag_id"], run["run_id"], run["state"], kind, at, run["backfill"])
        if run["backfill"]:
            entry = {"backfill_id": run["backfill"], "dag_run_id": row.id, "sort_ordinal": run["ordinal"]}
            session.add(BackfillDagRun(logical_date=PAST, **entry))
    session.commit()
    DagRun.DEFAULT_DAGRUNS_TO_EXAMINE = rng.randint(2, 6)
    started = start_all(session, dags, backfills)
    session.close()
    return {"dags": dags, "backfills": backfills, "runs": runs, "started": started}


def add_dags_and_backfills(session, dags: list[dict], backfills: list[dict]) -> None:
    from airflow.models.backfill import Backfill
    from airflow.models.dag import DagModel

    for dag in dags:
        row = DagModel(dag_id=dag["dag_id"], bundle_name="bundle", max_active_runs=dag["max_active_runs"])
        row.is_paused, row.is_stale = dag["is_paused"], dag["is_stale"]
        session.add(row)
    for backfill in backfills:
        row = Backfill(**backfill, from_date=PAST, to_date=PAST, dag_run_conf={})
        session.add(row)
    session.flush()


def random_runs(rng: random.Random, dags: list[dict], backfills: list[dict]) -> list[dict]:
    count = rng.randint(1, 25)
    # No two of one time: which of them Airflow takes first is not said.
    times = rng.sample(range(10_000), count)
    runs = []
    for number, time in enumerate(times):
        backfill = rng.choice([*backfills, None, None])
        runs.append(
            {
                "dag_id": backfill["dag_id"] if backfill else rng.choice(dags)["dag_id"],
                "run_id": f"r{number:02}",
                "state": rng.choice(["queued", "queued", "queued", "running"]),
                "after": rng.choice([time, time, time, time, "future"]),
                "backfill": backfill and backfill["id"],
                "ordinal": backfill and number + 1,
            }
        )
    return runs


def start_all(session, dags: list[dict], backfills: list[dict]) -> list[str]:
    """What the scheduler does with what the query gives it, until it gives nothing."""
    from airflow.models.dagrun import DagRun

    limits = {None: {dag["dag_id"]: dag["max_active_runs"] for dag in dags}}
    limits |= {row["id"]: {row["dag_id"]: row["max_active_runs"]} for row in backfills}
    started = []
    while True:
        rows = list(DagRun.get_queued_dag_runs_to_set_running(session))
        if not rows:
            return sorted(started)
        for row in rows:
            same = {"dag_id": row.dag_id, "backfill_id": row.backfill_id, "state": "running"}
            if session.query(DagRun).filter_by(**same).count() < limits[row.backfill_id][row.dag_id]:
                row.state = "running"
                session.flush()
                started.append(row.run_id)
        session.commit()


def seconds(at: datetime) -> int:
    return int((at - PAST).total_seconds())


if __name__ == "__main__":
    main()
