"""Stores sequences of parses with the real Airflow.

usage: sequences.py store folder    stores every step, in Airflow's database; one line of JSON for each
       sequences.py dump database...  one line of JSON with the rows of each SQLite file

A step has a `now`, the SQL that was run before it, the `source` of its file, the documents, import errors and
warnings that a parse would give, and what the bundle says. A copy of the database after each step is left
in the folder. The rows leave out times, and ids are counted in the order in which they turn up.
"""

import json
import os
import sqlite3
import sys
import zlib
from datetime import datetime, timedelta, timezone
from pathlib import Path

BUNDLE = "dags-folder"
START = datetime(2024, 1, 1, tzinfo=timezone.utc)
SEED = 20261116
RANDOM_SEQUENCES = 8


def main(command, *arguments):
    if command == "store":
        store(Path(arguments[0]))
    else:
        dump(arguments)


# --- the sequences ---


def run_sql(name, run_id, date, state="success", partition_key="NULL", partition_date="NULL"):
    return (
        "INSERT INTO dag_run (dag_id, run_id, state, run_type, logical_date, data_interval_start,"
        " data_interval_end, run_after, partition_key, partition_date) VALUES"
        f" ('{name}', '{run_id}', '{state}', 'scheduled', {date}, {date}, {date},"
        f" '2024-02-01 00:00:00.000000', {partition_key}, {partition_date})"
    )


def instance_sql(name):
    return (
        "INSERT INTO task_instance"
        " (id, task_id, dag_id, run_id, try_number, pool, pool_slots, dag_version_id) VALUES"
        f" (lower(hex(randomblob(16))), 'a', '{name}', 'r', 1, 'default_pool', 1, (SELECT id FROM dag_version"
        f" WHERE dag_id = '{name}' ORDER BY version_number DESC LIMIT 1))"
    )


async def too_late(context):
    print(context)


def sequences():
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import (
        DAG,
        Asset,
        AssetAlias,
        AsyncCallback,
        CronDataIntervalTimetable,
        CronPartitionTimetable,
        DeadlineAlert,
        DeadlineReference,
        PartitionedAssetTimetable,
    )

    def dag(name, owners=("airflow",), task=None, **fields):
        fields = {"start_date": START, "schedule": None, **fields}
        with DAG(name, **fields) as made:
            for number, owner in enumerate(owners):
                EmptyOperator(task_id="abc"[number], owner=owner, **(task or {}))
        return made

    def alert(minutes, name=None, reference=DeadlineReference.DAGRUN_QUEUED_AT):
        callback = AsyncCallback("sequences.too_late")
        return DeadlineAlert(
            reference=reference, interval=timedelta(minutes=minutes), callback=callback, name=name
        )

    def referring():
        parcels, letters = Asset("parcels", uri="s3://parcels"), Asset("letters", uri="s3://letters")
        task = {"inlets": [letters], "outlets": [letters]}
        return dag("referring", schedule=[parcels, AssetAlias("post")], task=task)

    day = "'2024-01-31 00:00:00.000000'"
    ran = ["r", day]
    later = "'2024-03-01 00:00:00.000000'"
    daily = CronDataIntervalTimetable("0 0 * * *", timezone="UTC")
    hourly = CronDataIntervalTimetable("0 * * * *", timezone="UTC")
    monthly = CronPartitionTimetable("0 0 1 * *", timezone="UTC")
    asset = Asset("orders", uri="s3://orders")
    return {
        "plain": [
            {"dags": [dag("plain")]},
            {"dags": [dag("plain")]},
            {"dags": [dag("plain")], "source": "# a comment\r\n"},
            {"dags": [dag("plain", description="rewritten")]},
            {
                "dags": [dag("plain", description="a new version")],
                "sql": [run_sql("plain", *ran), instance_sql("plain")],
            },
            {"dags": [dag("plain", description="a new version")]},
            {"dags": [dag("plain", description="kept back", doc_md="x")], "interval": "3600"},
        ],
        "labels": [
            {
                "dags": [
                    dag("labels", owners=["zoe", "ann"], tags=["b", "a"], owner_links={"ann": "https://a"})
                ]
            },
            {
                "dags": [
                    dag(
                        "labels",
                        owners=["ann", "bob"],
                        tags=["c", "a"],
                        owner_links={"ann": "https://b", "bob": "mailto:b@x"},
                    )
                ]
            },
            {"dags": [dag("labels")]},
        ],
        "deadlines": [
            {"dags": [dag("deadlines", deadline=alert(5, "first"))]},
            {"dags": [dag("deadlines", deadline=alert(5, "first"))]},
            {"dags": [dag("deadlines", deadline=alert(5, "renamed"))]},
            {"dags": [dag("deadlines", deadline=[alert(5, "renamed"), alert(6)])]},
            {"dags": [dag("deadlines", deadline=[alert(6, "six"), alert(5, "five")], description="same")]},
            {
                "dags": [dag("deadlines", deadline=[alert(6, "6"), alert(5, "five")], description="other")],
                "sql": [run_sql("deadlines", *ran), instance_sql("deadlines")],
            },
            {"dags": [dag("deadlines", deadline=alert(7))]},
            {"dags": [dag("deadlines")]},
            {"dags": [dag("deadlines", deadline=alert(7))]},
        ],
        "schedule": [
            {"dags": [dag("schedule", schedule=daily, catchup=True)]},
            {
                "dags": [dag("schedule", schedule=daily, catchup=True)],
                "sql": [
                    run_sql("schedule", *ran),
                    run_sql("schedule", "later", later).replace("scheduled", "manual"),
                ],
            },
            {"dags": [dag("schedule", schedule=hourly, catchup=True)]},
            {
                "dags": [dag("schedule", schedule=hourly, catchup=True, max_active_runs=2)],
                "sql": [
                    run_sql("schedule", "x", "NULL", state="running"),
                    run_sql("schedule", "y", "NULL", state="queued"),
                    run_sql("schedule", "z", "NULL", state="queued").replace("scheduled", "backfill"),
                ],
            },
            {"dags": [dag("schedule", schedule=hourly, catchup=True, max_active_runs=3)]},
            {"dags": [dag("schedule", schedule="0 0 1 1 *", catchup=False)]},
            {"dags": [dag("schedule", schedule="@once")]},
            {"dags": [dag("schedule", schedule=timedelta(days=1), end_date=START, catchup=True)]},
            {"dags": [dag("schedule", max_active_runs=0)]},
        ],
        "paused": [
            {"dags": [dag("paused"), dag("paused_no", is_paused_upon_creation=False)]},
            {
                "dags": [dag("paused"), dag("paused_no", is_paused_upon_creation=True)],
                "sql": ["UPDATE dag SET is_paused = 0, is_stale = 1 WHERE dag_id = 'paused'"],
            },
        ],
        "fields": [
            {
                "dags": [
                    dag(
                        "fields",
                        dag_display_name="Felder \U0001f600 \x7f",
                        description="\u00e9\u2028\x01",
                        fail_fast=True,
                        allowed_run_types=["manual", "backfill"],
                        max_active_tasks=3,
                        max_consecutive_failed_dag_runs=4,
                        task={"max_active_tis_per_dag": 1},
                    )
                ]
            },
            {"dags": [dag("fields")]},
        ],
        "compressed": [
            {"dags": [dag("compressed")], "compress": True},
            {"dags": [dag("compressed", description="other")], "compress": True},
            {"dags": [dag("compressed", description="plain")]},
        ],
        "errors": [
            {"dags": [dag("errors")]},
            {"dags": [], "import_errors": {"errors.py": "first"}},
            {"dags": [], "import_errors": {"errors.py": "second"}},
            {"dags": [dag("errors")]},
            {"dags": []},
        ],
        "referring": [
            {"dags": [referring()]},
            # What it waits for and updates stays.
            {"dags": [], "import_errors": {"referring.py": "broken"}},
            {"dags": [referring()]},
        ],
        "partitions": [
            {"dags": [dag("partitions", schedule=monthly, catchup=True)]},
            {
                "dags": [dag("partitions", schedule=monthly, catchup=True)],
                "sql": [
                    run_sql("partitions", "p", "NULL", partition_key="'k'", partition_date=day),
                    run_sql("partitions", "q", "NULL", partition_key="'l'"),
                ],
            },
            {"dags": [dag("partitions", schedule=PartitionedAssetTimetable(assets=asset))]},
        ],
        "warned": [
            {"dags": [dag("warned")], "warnings": [["warned", "runtime varying value", "one"]]},
            {"dags": [dag("warned")], "warnings": [["warned", "runtime varying value", "two"]]},
            {
                "dags": [dag("warned")],
                "sql": [
                    "INSERT INTO dag_warning VALUES"
                    " ('warned', 'asset conflict', 'x', '2024-02-01 00:00:00.000000')"
                ],
            },
            {"dags": [], "import_errors": {"warned.py": "broken"}},
        ],
        "bundle": [
            {"dags": [dag("bundle")], "bundle_version": "v1", "version_data": {"commit": 1}},
            {"dags": [dag("bundle")], "bundle_version": "v2", "version_data": {"commit": 2}},
            {"dags": [dag("bundle")]},
            {"dags": [dag("bundle")], "bundle": "other"},
        ],
    }


# --- storing them ---


def store(folder):
    # Its functions need Airflow's settings, which are read when it is imported.
    import random_parses
    from airflow import settings
    from airflow.dag_processing.collection import update_dag_parsing_results_in_db
    from airflow.models import serialized_dag
    from airflow.models.dagwarning import DagWarning
    from airflow.serialization.serialized_objects import DagSerialization, LazyDeserializedDAG
    from airflow.utils.session import create_session

    database = settings.engine.url.database
    for name, steps in (sequences() | random_parses.sequences(SEED, RANDOM_SEQUENCES)).items():
        for number, step in enumerate(steps):
            place = folder / f"{name}.py"
            source = step.get("source", "# the file\n")
            place.write_bytes(source.encode())
            for dag in step["dags"]:
                dag.fileloc, dag.relative_fileloc = str(place), place.name
            documents = [DagSerialization.to_dict(dag) for dag in step["dags"]]
            texts = [json.dumps(document) for document in documents]
            execute(database, step.get("sql", []))
            os.environ["AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL"] = step.get("interval", "0")
            serialized_dag._COMPRESS_SERIALIZED_DAGS = step.get("compress", False)
            bundle = step.get("bundle", BUNDLE)
            errors = step.get("import_errors", {})
            warnings = step.get("warnings", [])
            now = datetime.now(timezone.utc)
            with create_session() as session:
                update_dag_parsing_results_in_db(
                    bundle_name=bundle,
                    bundle_version=step.get("bundle_version"),
                    version_data=step.get("version_data"),
                    dags=[LazyDeserializedDAG(data=document) for document in documents],
                    import_errors={(bundle, file): text for file, text in errors.items()},
                    parse_duration=1.5,
                    warnings={DagWarning(*warning) for warning in warnings},
                    session=session,
                    files_parsed={(bundle, place.name)},
                )
            # As the DAG processor does in every turn of its loop.
            DagWarning.purge_inactive_dag_warnings()
            with sqlite3.connect(database) as connection:
                connection.execute("VACUUM INTO ?", [str(folder / f"{name}-{number}.db")])
            print(
                json.dumps(
                    {
                        "name": name,
                        "number": number,
                        "now": now.isoformat(),
                        "sql": step.get("sql", []),
                        "interval": int(step.get("interval", "0")),
                        "compress": step.get("compress", False),
                        "bundle": bundle,
                        "bundle_version": step.get("bundle_version"),
                        "version_data": step.get("version_data"),
                        "source": source,
                        "documents": texts,
                        "import_errors": errors,
                        "warnings": warnings,
                    }
                )
            )


def execute(database, statements):
    with sqlite3.connect(database) as connection:
        for statement in statements:
            connection.execute(statement)


# --- what is in a database ---

JSON_COLUMNS = {
    "allow_consumer_teams",
    "allow_producer_teams",
    "allowed_run_types",
    "asset_expression",
    "callback_def",
    "deadline",
    "data",
    "interval",
    "partition_mapper_info",
    "reference",
    "version_data",
    "extra",
}
LEFT_OUT = {
    "created_at",
    "last_updated",
    "last_parsed_time",
    "timestamp",
    "updated_at",
}
TABLES = [
    "dag",
    "dag_version",
    "serialized_dag",
    "dag_code",
    "dag_tag",
    "dag_owner_attributes",
    "deadline_alert",
    "import_error",
    "dag_warning",
    "asset",
    "asset_active",
    "asset_alias",
    "dag_schedule_asset_reference",
    "dag_schedule_asset_alias_reference",
    "task_inlet_asset_reference",
    "task_outlet_asset_reference",
]


def dump(databases):
    labels = {}
    for database in databases:
        connection = sqlite3.connect(database)
        connection.row_factory = sqlite3.Row
        tables = {table: list(map(dict, connection.execute(f"SELECT * FROM {table}"))) for table in TABLES}
        for row in sorted(tables["dag_version"], key=lambda row: (row["dag_id"], row["version_number"])):
            labels.setdefault(row["id"], f"{row['dag_id']} {row['version_number']}")
        for row in tables["serialized_dag"]:
            labels.setdefault(row["id"], f"document of {labels[row['dag_version_id']]}")
        for kind in ("asset", "alias"):
            table = "asset" if kind == "asset" else "asset_alias"
            labels |= {(f"{kind}_id", row["id"]): f"{kind} {row['name']}" for row in tables[table]}
        alerts = tables["deadline_alert"]
        for row in sorted(alerts, key=lambda row: deadline_order(row, labels)):
            labels.setdefault(row["id"], f"deadline {len(labels)}")
        print(json.dumps({table: sorted(rows(rows_, labels)) for table, rows_ in tables.items()}))


def deadline_order(row, labels):
    return (labels[row["serialized_dag_id"]], row["interval"], row["reference"], str(row["name"]))


def rows(found, labels):
    """Each row as a text, so that rows can be put in order."""
    for row in found:
        values = {key: value(key, row[key], labels) for key in row if key not in LEFT_OUT}
        document = values.get("data_compressed") or values.get("data")
        if isinstance(document, dict) and document.get("dag", {}).get("deadline"):
            # The ids in it are random.
            del values["dag_hash"]
            ids = document["dag"]["deadline"]
            document["dag"]["deadline"] = [labels.get(known.replace("-", ""), known) for known in ids]
        if "owners" in values:
            values["owners"] = sorted(values["owners"].split(", "))
        yield json.dumps(values, sort_keys=True)


def value(key, found, labels):
    if key == "data_compressed":
        return found and json.loads(zlib.decompress(found))
    if key == "task_id":
        return found
    if (key, found) in labels:
        return labels[key, found]
    if key == "id" or key.endswith("_id"):
        return labels.get(found, found if key == "dag_id" else "some id")
    if key in JSON_COLUMNS:
        if found is None or (key, found) == ("asset_expression", "null"):
            # Airflow writes JSON's null over an expression that is gone; whoever reads it cannot tell.
            return "SQL NULL"
        return without_ids(json.loads(found))
    return found


def without_ids(found):
    """Assets are counted in the order in which they are met, which is nobody's promise."""
    if isinstance(found, dict):
        return {key: without_ids(value) for key, value in found.items() if key != "id"}
    return [without_ids(item) for item in found] if isinstance(found, list) else found


if __name__ == "__main__":
    main(*sys.argv[1:])
