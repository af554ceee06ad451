"""Reads or writes rows of the metadata database through Airflow's own models.

usage: orm.py read    prints {table: {name: row}}
       orm.py write   takes {table: [row]} on stdin, prints {table: [id that the database counted up]}

A row is {column: value}. Times are ISO 8601, UUIDs are text. JSON is text, too, with sorted keys: a number
in it may have more digits than the reader has. For every JSON column there is a second entry,
"<column> is NULL", that tells SQL NULL from JSON null. An executor_config that JSON cannot say is
{"python": "<literal>"}. Secrets are plain text; "<column> key" says which of the configured Fernet keys
encrypts them: its position, or null for none.
"""

import ast
import json
import os
import sys
from datetime import datetime, timezone
from uuid import UUID

import airflow.models.serialized_dag as serialized_dag
import sqlalchemy as sa
from airflow import settings
from airflow.jobs.job import Job
from airflow.models.callback import Callback
from airflow.models.connection import Connection
from airflow.models.crypto import get_fernet
from airflow.models.dag import DagModel
from airflow.models.dag_version import DagVersion
from airflow.models.dagbundle import DagBundleModel
from airflow.models.dagrun import DagRun
from airflow.models.log import Log
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.models.variable import Variable
from airflow.serialization.serialized_objects import LazyDeserializedDAG
from airflow.utils.sqlalchemy import ExecutorConfigType, ExtendedJSON, UtcDateTime
from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy.orm import Session

# In the order of their foreign keys, each with the column that names a row.
MODELS = [
    (Job, "hostname"),
    (DagBundleModel, "name"),
    (DagModel, "dag_id"),
    (DagVersion, "id"),
    (SerializedDagModel, "dag_version_id"),
    (DagRun, "run_id"),
    (TaskInstance, "id"),
    (Callback, "id"),
    (Variable, "key"),
    (Connection, "conn_id"),
    (Log, "event"),
]
SECRETS = {"variable": ["val"], "connection": ["password", "extra"]}
FLAGS = {"val": "is_encrypted", "password": "is_encrypted", "extra": "is_extra_encrypted"}
KEYS = os.environ["AIRFLOW__CORE__FERNET_KEY"].split(",")


def columns(model):
    """Attribute and column, leaving out ids that the database counts up."""
    for attribute in model.__mapper__.column_attrs:
        column = attribute.columns[0]
        if not (column.primary_key and isinstance(column.type, sa.Integer)):
            yield attribute.key, column


def is_json(column):
    return isinstance(column.type, (sa.JSON, ExtendedJSON))


def read(session):
    tables = {}
    for model, name in MODELS:
        nulls = [column.is_(sa.null()).label(column.name) for _, column in columns(model) if is_json(column)]
        # An entity and the plain columns beside it: what SQL says of NULL, not what the ORM makes of it.
        rows = session.execute(sa.select(model, *nulls)).unique()
        dumped = [dump(row[0], row._mapping) for row in rows]
        tables[model.__tablename__] = {str(row[name]): row for row in dumped}
    return tables


def dump(entity, nulls):
    model, table = type(entity), entity.__tablename__
    row = {}
    for key, column in columns(model):
        value = getattr(entity, key)
        row[column.name] = json.dumps(value, sort_keys=True) if is_json(column) else plain(value)
        if is_json(column):
            row[f"{column.name} is NULL"] = bool(nulls[column.name])
    for column in SECRETS.get(table, []):
        stored = row[column]
        row[column] = Variable.get(entity.key) if model is Variable else getattr(entity, column)
        row[f"{column} key"] = position(stored) if stored and row[FLAGS[column]] else None
    if model is SerializedDagModel:
        row["data"] = json.dumps(entity.data, sort_keys=True)
        row["data_compressed"] = entity._data_compressed is not None
    return row


def plain(value):
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="microseconds")
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return None
    if isinstance(value, dict) and json_cannot_say(value):
        return {"python": repr(value)}
    return getattr(value, "name", value) if type(value).__name__ == "DagRunTriggeredByType" else value


def json_cannot_say(value):
    if isinstance(value, dict):
        return any(json_cannot_say(inner) for inner in value.values())
    if isinstance(value, list):
        return any(json_cannot_say(inner) for inner in value)
    return not isinstance(value, (str, int, float, type(None)))


def position(token):
    for i, key in enumerate(KEYS):
        try:
            Fernet(key).decrypt(token)
            return i
        except InvalidToken:
            pass
    raise ValueError("no key fits")


def write(session, tables):
    ids = {}
    for model, _ in MODELS:
        for row in tables.get(model.__tablename__, []):
            if model is SerializedDagModel:
                write_serialized_dag(session, row)
            elif model in (Variable, Connection):
                write_secret(session, model, row)
            else:
                mapping = dict(mapped(model, row))
                session.bulk_insert_mappings(model, [mapping], return_defaults=True, render_nulls=True)
                ids.setdefault(model.__tablename__, []).append(str(mapping.get("id")))
    return ids


def mapped(model, row):
    """What the ORM is given; a column that is to be SQL NULL is left out, as in Airflow's own rows."""
    for key, column in columns(model):
        if column.name not in row or row.get(f"{column.name} is NULL"):
            continue
        value = row[column.name]
        if is_json(column):
            value = json.loads(value)
        elif isinstance(column.type, UtcDateTime) and value is not None:
            value = datetime.fromisoformat(value)
        elif isinstance(column.type, sa.Uuid) and value is not None:
            value = UUID(value)
        elif isinstance(column.type, ExecutorConfigType) and value and "python" in value:
            value = ast.literal_eval(value["python"])
        elif isinstance(column.type, sa.Enum) and value is not None:
            value = column.type.enum_class[value]
        yield key, value


def write_serialized_dag(session, row):
    serialized_dag._COMPRESS_SERIALIZED_DAGS = row["data_compressed"]
    entity = SerializedDagModel(LazyDeserializedDAG(data=json.loads(row["data"])))
    for key, value in mapped(SerializedDagModel, row):
        if key not in ("_data", "_data_compressed"):
            setattr(entity, key, value)
    session.add(entity)
    session.flush()


def write_secret(session, model, row):
    """Sets a row up under the keys that it names, by the constructor that encrypts."""
    named = [row[f"{column} key"] for column in SECRETS[model.__tablename__]]
    position = next((i for i in named if i is not None), None)
    os.environ["AIRFLOW__CORE__FERNET_KEY"] = "" if position is None else KEYS[position]
    get_fernet.cache_clear()
    entries = {*FLAGS.values(), *(f"{column} key" for column in SECRETS[model.__tablename__])}
    arguments = {name: value for name, value in row.items() if name not in entries}
    session.add(model(**arguments))
    session.flush()


def main():
    # Not Airflow's session of this thread: `Variable.get` uses that one, and closes it.
    with Session(settings.engine) as session, session.begin():
        answer = read(session) if sys.argv[1] == "read" else write(session, json.load(sys.stdin))
    print(json.dumps(answer, sort_keys=True))


main()
