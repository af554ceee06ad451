"""All that a metadata database says about assets.

<venv>/bin/python testdata/assets/rows.py    # takes a list of URLs on stdin, prints the rows of each
"""

import json
import sys

import sqlalchemy as sa
from airflow.models import asset as models
from airflow.models.crypto import get_fernet
from airflow.models.dag import DagModel
from airflow.models.trigger import Trigger
from sqlalchemy.orm import Session


def main() -> None:
    found = []
    for url in json.load(sys.stdin):
        engine = sa.create_engine(url)
        with Session(engine) as session:
            found.append(rows(session))
        engine.dispose()
    print(json.dumps(found))


def rows(session) -> dict[str, list]:
    """The rows by table: ids are what they stand for, times are left out, of equal triggers there is one."""
    assets = {one.id: f"{one.name}|{one.uri}" for one in session.scalars(sa.select(models.AssetModel))}
    aliases = {one.id: one.name for one in session.scalars(sa.select(models.AssetAliasModel))}
    triggers = {
        one.id: [one.classpath, decrypted(one.encrypted_kwargs), one.team_name, one.queue]
        for one in session.scalars(sa.select(Trigger))
    }

    def read(model, *columns: str) -> list[list]:
        selected = [getattr(model, column) for column in columns]
        found = [list(row) for row in session.execute(sa.select(*selected))]
        for row in found:
            for place, column in enumerate(columns):
                names = {"asset_id": assets, "alias_id": aliases, "trigger_id": triggers}.get(column)
                row[place] = names[row[place]] if names else row[place]
        return sorted(found, key=repr)

    outlet = models.TaskOutletAssetReference
    sql_nulls = session.scalar(
        sa.select(sa.func.count()).select_from(outlet).where(outlet.allow_consumer_teams.is_(sa.null()))
    )
    return {
        "asset": read(models.AssetModel, "name", "uri", "group", "extra"),
        "asset_active": read(models.AssetActive, "name", "uri"),
        "asset_alias": read(models.AssetAliasModel, "name", "group"),
        "dag_schedule_asset_reference": read(
            models.DagScheduleAssetReference,
            "dag_id",
            "asset_id",
            "allow_producer_teams",
            "allow_global_producers",
        ),
        "dag_schedule_asset_alias_reference": read(
            models.DagScheduleAssetAliasReference, "dag_id", "alias_id"
        ),
        "dag_schedule_asset_name_reference": read(models.DagScheduleAssetNameReference, "dag_id", "name"),
        "dag_schedule_asset_uri_reference": read(models.DagScheduleAssetUriReference, "dag_id", "uri"),
        "task_inlet_asset_reference": read(models.TaskInletAssetReference, "dag_id", "task_id", "asset_id"),
        "task_outlet_asset_reference": read(
            outlet, "dag_id", "task_id", "asset_id", "allow_consumer_teams", "allow_global_consumers"
        ),
        "outlets whose teams are NULL": [sql_nulls],
        "asset_dag_run_queue": read(models.AssetDagRunQueue, "target_dag_id", "asset_id"),
        "asset_watcher": read(models.AssetWatcherModel, "asset_id", "name", "trigger_id"),
        "trigger": sorted({json.dumps(one): one for one in triggers.values()}.values(), key=repr),
        "asset_expression": [
            [dag_id, with_names(expression, assets)]
            for dag_id, expression in read(DagModel, "dag_id", "asset_expression")
        ],
    }


def decrypted(kwargs: str) -> dict:
    return json.loads(get_fernet().decrypt(kwargs.encode()).decode())


def with_names(value, assets: dict[int, str]):
    """An expression, with each id replaced by what it stands for."""
    if isinstance(value, list):
        return [with_names(one, assets) for one in value]
    if isinstance(value, dict):
        return {key: assets[one] if key == "id" else with_names(one, assets) for key, one in value.items()}
    return value


if __name__ == "__main__":
    main()
