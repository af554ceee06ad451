"""Lets the official DAG processor's code store a file in the configured database, and looks at the triggers.

Takes serialized DAGs on stdin. Prints which triggers watch before and after, and what the official triggerer
would give to the class of each trigger.
"""

import json
import sys

import sqlalchemy as sa
from airflow import settings
from airflow.models.asset import AssetWatcherModel
from airflow.models.trigger import Trigger
from airflow.serialization.decoders import smart_decode_trigger_kwargs
from airflow.serialization.definitions.dag import SerializedDAG
from airflow.serialization.serialized_objects import LazyDeserializedDAG


def main() -> None:
    dags = [LazyDeserializedDAG(data=json.loads(text)) for text in json.load(sys.stdin)]
    with settings.Session() as session:
        before = watching(session)
        kwargs = [
            {key: written(smart_decode_trigger_kwargs(value)) for key, value in one.kwargs.items()}
            for one in session.scalars(sa.select(Trigger).order_by(Trigger.id))
        ]
        SerializedDAG.bulk_write_to_db("dags-folder", None, dags, session=session)
        session.commit()
        print(json.dumps({"before": before, "after": watching(session), "kwargs": kwargs}))


def written(value) -> str:
    return f"set of {sorted(value)}" if isinstance(value, set) else repr(value)


def watching(session) -> list[list[int]]:
    columns = AssetWatcherModel.asset_id, AssetWatcherModel.trigger_id
    return sorted(list(row) for row in session.execute(sa.select(*columns)))


if __name__ == "__main__":
    main()
