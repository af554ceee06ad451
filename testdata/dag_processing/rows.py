"""The rows that a DAG processor writes, in a form that two runs of it share.

Ids become what they stand for, times and folders are masked, and the order of rows is that of their text.
Rows are read through Airflow's own tables, types and encryption: official code can read them, whoever wrote
them.
"""

import functools
import hashlib
import json
import re
import sys
import sysconfig
from datetime import datetime

TABLES = (
    "dag_bundle",
    "dag",
    "dag_tag",
    "dag_owner_attributes",
    "dag_version",
    "serialized_dag",
    "dag_code",
    "deadline_alert",
    "asset",
    "asset_alias",
    "asset_active",
    "dag_schedule_asset_reference",
    "dag_schedule_asset_alias_reference",
    "dag_schedule_asset_name_reference",
    "dag_schedule_asset_uri_reference",
    "task_inlet_asset_reference",
    "task_outlet_asset_reference",
    "asset_watcher",
    "trigger",
    "import_error",
    "dag_warning",
)
# Documents longer than this are recorded as their length and hash.
LONG = 6_000
# When a DAG with this timetable runs next depends on the moment, whatever `catchup` says.
OF_THE_MOMENT = ("ContinuousTimetable",)
JSON_NULL = "<JSON null>"
# Ids, and what is shown in another form.
NOT_SHOWN = ("id", "data", "data_compressed", "kwargs", "source_code")
# Lists of a document whose order means nothing.
OF_SETS = ("template_fields",)


def normalised(raw: dict[str, list[dict]], folders: dict[str, str]) -> dict[str, list]:
    """All rows of a reading. Paths that begin with a value of `folders` are shown with its key instead."""
    masks = Masks(folders)
    names = Names(raw, masks)
    return {table: _sorted(names.row(table, row) for row in raw[table]) for table in TABLES}


def read() -> dict[str, list[dict]]:
    """All rows as they are."""
    from airflow.models.base import Base
    from airflow.utils.db import import_all_models
    from airflow.utils.session import create_session

    import_all_models()
    with create_session() as session:
        return {name: _read_table(Base.metadata.tables[name], session) for name in TABLES}


def changed_columns(before: dict[str, list[dict]], after: dict[str, list[dict]]) -> dict[str, list[str]]:
    """Per table, the columns that differ between two readings; `*` where rows came or went."""
    from airflow.models.base import Base

    changes = {}
    for table in TABLES:
        keys = [column.name for column in Base.metadata.tables[table].primary_key]
        old, new = (
            {tuple(str(row[key]) for key in keys): row for row in rows[table]} for rows in (before, after)
        )
        columns = {
            column
            for key in old.keys() & new.keys()
            for column, value in new[key].items()
            if value != old[key][column]
        }
        columns |= {"*"} if old.keys() != new.keys() else set()
        if columns:
            changes[table] = sorted(columns)
    return changes


def _read_table(table, session) -> list[dict]:
    import sqlalchemy as sa

    # SQL's NULL and JSON's null look alike once they are read.
    documents = [
        column for column in table.columns if isinstance(column.type, sa.JSON) or "json" in _kind(column)
    ]
    absent = [column.is_(sa.null()).label(f"{column.name} is NULL") for column in documents]
    rows = []
    for found in session.execute(sa.select(*table.columns, *absent)).mappings():
        row = {column.name: found[column] for column in table.columns}
        for column in documents:
            if row[column.name] is None and not found[f"{column.name} is NULL"]:
                row[column.name] = JSON_NULL
        rows.append(row)
    return rows


def _kind(column) -> str:
    return type(column.type).__name__.lower()


class Masks:
    """What a text holds only because of where and when it was made."""

    def __init__(self, folders: dict[str, str]) -> None:
        named = {path: f"<{name}>" for name, path in folders.items()}
        named[sysconfig.get_paths()["purelib"]] = "<site-packages>"
        named[sys.prefix] = "<virtualenv>"
        self._folders = sorted(named.items(), key=lambda pair: -len(pair[0]))
        # Most texts are keys of documents, and come again and again.
        self.text = functools.cache(self._masked)

    def _masked(self, text: str) -> str:
        for path, name in self._folders:
            text = text.replace(path, name)
        # The module's name has a hash of the file's path in it.
        text = re.sub(r"unusual_prefix_[0-9a-f]{40}", "unusual_prefix_<hash>", text)
        # One program has several names; DAG files ask for the one that it was started by.
        text = re.sub(r"<virtualenv>/bin/python[\d.]*", "<python>", text)
        text = re.sub(r" at 0x[0-9a-f]+", " at <address>", text)
        text = re.sub(r"PID: \d+", "PID: <id>", text)
        text = text.replace(datetime.now().date().isoformat(), "<today>")
        # Python 3.11 and 3.13 underline other parts of a line; nobody but people reads that.
        return re.sub(r"\n[ ~^]+(?=\n|$)", "", text)

    def value(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            masked = {self.text(str(key)): self.value(one) for key, one in value.items()}
            # Operators make theirs of sets: the order is another in every process, and no hash depends on it.
            return {key: sorted(one) if key in OF_SETS else one for key, one in masked.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(one) for one in value]
        if isinstance(value, (int, float, bool, type(None))):
            return value
        return self.text(str(value))


class Names:
    """What the ids of a reading stand for."""

    def __init__(self, raw: dict[str, list[dict]], masks: Masks) -> None:
        self._masks = masks
        self._documents = {row["dag_id"]: self._data(row) for row in _by_version(raw)}
        versions = {row["id"]: f"{row['dag_id']} v{row['version_number']}" for row in raw["dag_version"]}
        self._assets = {row["id"]: f"{row['name']} {row['uri']}" for row in raw["asset"]}
        self._stand_for = {
            "dag_version_id": versions,
            "serialized_dag_id": {
                row["id"]: versions.get(row["dag_version_id"]) for row in raw["serialized_dag"]
            },
            "asset_id": self._assets,
            "alias_id": {row["id"]: row["name"] for row in raw["asset_alias"]},
            "trigger_id": {row["id"]: self._trigger(row) for row in raw["trigger"]},
        }
        self._alerts = {str(row["id"]): self._alert(row) for row in raw["deadline_alert"]}
        self._rivals = _rivals_across_files(raw)

    def row(self, table: str, row: dict) -> dict:
        named = {
            column: self._value(table, column, value, row)
            for column, value in row.items()
            if column not in NOT_SHOWN
        }
        extra = getattr(self, f"_{table}", None)
        return named | (extra(row) if extra else {})

    def _value(self, table: str, column: str, value: object, row: dict) -> object:
        if value is not None and column in self._stand_for:
            return self._stand_for[column].get(value, "<of nothing>")
        if column.startswith("next_dagrun"):
            return self._next_run(row, value)
        if isinstance(value, datetime) or column == "last_parse_duration":
            return "<set>" if value is not None else None
        return self._masks.value(value)

    def _next_run(self, row: dict, value: object) -> object:
        document = self._documents.get(row["dag_id"], {}).get("dag", {})
        of_the_moment = not document.get("catchup") or row["timetable_type"].endswith(OF_THE_MOMENT)
        if value is None or not of_the_moment:
            return None if value is None else str(value)
        return "<moment>"

    def _dag(self, row: dict) -> dict:
        owners = ", ".join(sorted((row["owners"] or "").split(", ")))
        return {"owners": owners, "asset_expression": self._expression(row["asset_expression"])}

    def _expression(self, node: object) -> object:
        if isinstance(node, list):
            return [self._expression(one) for one in node]
        if isinstance(node, dict) and isinstance(node.get("id"), int):
            return node | {"id": self._assets.get(node["id"], "<of nothing>")}
        if isinstance(node, dict):
            return {key: self._expression(one) for key, one in node.items()}
        return node

    def _serialized_dag(self, row: dict) -> dict:
        from airflow.models.serialized_dag import SerializedDagModel

        data = self._data(row)
        hashed = SerializedDagModel.hash(data)
        document = self._masks.value(data)
        deadlines = document.get("dag", {}).get("deadline")
        if isinstance(deadlines, list):
            document["dag"]["deadline"] = [self._alerts.get(one, "<of nothing>") for one in deadlines]
        return {
            "dag_hash": "<of the document>"
            if row["dag_hash"] == hashed
            else f"{row['dag_hash']}, not {hashed}",
            "data": _short(document),
            "compressed": row["data_compressed"] is not None,
        }

    def _dag_code(self, row: dict) -> dict:
        hashed = hashlib.md5(row["source_code"].encode()).hexdigest()
        right = row["source_code_hash"] == hashed
        return {
            "source_code": hashed,
            "source_code_hash": "<of the text>" if right else row["source_code_hash"],
        }

    def _deadline_alert(self, row: dict) -> dict:
        return self._alert(row)

    def _alert(self, row: dict) -> dict:
        kept = ("name", "description", "reference", "interval", "callback_def")
        return {name: self._masks.value(row[name]) for name in kept if name in row}

    def _asset_active(self, row: dict) -> dict:
        rivals = self._rivals.get((row["name"], row["uri"]))
        return {"name": f"<one of {rivals}>", "uri": None} if rivals else {}

    def _trigger(self, row: dict) -> dict:
        from airflow.models.trigger import Trigger

        kwargs = Trigger._decrypt_kwargs(row["kwargs"])
        return {"classpath": row["classpath"], "decrypted kwargs": self._masks.value(kwargs)}

    def _data(self, row: dict) -> dict:
        import zlib

        if row["data_compressed"] is not None:
            return json.loads(zlib.decompress(row["data_compressed"]))
        return row["data"] or {}


def _rivals_across_files(raw: dict[str, list[dict]]) -> dict[tuple[str, str], list[str]]:
    """Assets that share a name or a URI, by which they are known. Only the first that is stored is active: if
    several files have them, which it is depends on what is parsed first, and is no matter of the rows.
    """
    files = {row["dag_id"]: row["relative_fileloc"] for row in raw["dag"]}
    used: dict[int, set[str]] = {}
    for table in TABLES:
        for row in raw[table]:
            if "asset_id" in row and "dag_id" in row:
                used.setdefault(row["asset_id"], set()).add(files[row["dag_id"]])
    rivals = {}
    for asset in raw["asset"]:
        alike = [one for one in raw["asset"] if one["name"] == asset["name"] or one["uri"] == asset["uri"]]
        if len(alike) > 1 and len(set().union(*(used.get(one["id"], set()) for one in alike))) > 1:
            rivals[asset["name"], asset["uri"]] = sorted(f"{one['name']} {one['uri']}" for one in alike)
    return rivals


def _by_version(raw: dict[str, list[dict]]) -> list[dict]:
    numbers = {row["id"]: row["version_number"] for row in raw["dag_version"]}
    return sorted(raw["serialized_dag"], key=lambda row: numbers.get(row["dag_version_id"], 0))


def _short(document: object) -> object:
    text = json.dumps(document, sort_keys=True)
    if len(text) <= LONG:
        return document
    return {"length": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _sorted(rows) -> list[dict]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
