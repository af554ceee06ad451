"""The rows of the tables that the arguments name, as one JSON object, without what is different every time.

Of moments just now, of ids that were made just now and of traces is only told that they are there.
"""

from __future__ import annotations

import datetime
import json
import pickle
import sys
import uuid

from airflow.configuration import conf
from sqlalchemy import create_engine, text

NOW = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
A_WHILE = datetime.timedelta(hours=1)


def is_now(value: str) -> bool:
    try:
        return abs(datetime.datetime.fromisoformat(value) - NOW) < A_WHILE
    except (TypeError, ValueError):
        return False


def is_made_now(value: str) -> bool:
    try:
        return uuid.UUID(value).version == 7
    except ValueError:
        return False


def shown(column: str, value):
    if value is None:
        return None
    if column in ("created_at", "updated_at", "timestamp", "unixname"):
        return "…"
    if column == "context_carrier":
        carrier = json.loads(value)
        carrier = carrier and carrier.get("__var", carrier)
        return carrier and {key: "…" if key == "traceparent" else value for key, value in carrier.items()}
    if column == "duration" and value > 1_000_000:
        return "since long ago"
    if isinstance(value, bytes):
        return repr(pickle.loads(value))
    if isinstance(value, str) and is_now(value):
        return "now"
    if isinstance(value, str) and is_made_now(value):
        return "a new id"
    return value


def main() -> None:
    engine = create_engine(conf.get("database", "sql_alchemy_conn"))
    found = {}
    with engine.connect() as connection:
        for table in sys.argv[1:]:
            rows = connection.execute(text(f"SELECT * FROM {table}")).mappings()
            found[table] = sorted(
                ({column: shown(column, row[column]) for column in row} for row in rows),
                key=lambda row: json.dumps(row, default=str, sort_keys=True),
            )
    print(json.dumps(found, default=str))


main()
