"""Conditions on assets of every kind, aliases, references, groups and extras; inlets and outlets."""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import (
    DAG,
    Asset,
    AssetAlias,
    AssetAll,
    AssetAny,
    AssetOrTimeSchedule,
    CronTriggerTimetable,
    asset,
    task,
)

plain = Asset("assets_plain")
with_uri = Asset(
    "assets_with_uri", "s3://bucket/key", group="lake", extra={"owner": "data", "n": [1, 2.5, None]}
)
other = Asset(uri="file:///data/other.csv")
alias = AssetAlias("assets_alias", group="aliases")
START = datetime(2024, 1, 1)

with DAG("assets_all", schedule=[plain, with_uri], start_date=START):
    BashOperator(task_id="produce", bash_command="true", inlets=[plain, with_uri], outlets=[other])

with DAG("assets_any", schedule=AssetAny(plain, AssetAll(with_uri, other)), start_date=START):
    BashOperator(task_id="produce", bash_command="true", outlets=[alias])

with DAG("assets_alias_consumer", schedule=alias, start_date=START):
    BashOperator(task_id="consume", bash_command="true", inlets=[alias])

with DAG(
    "assets_references",
    schedule=(Asset.ref(name="assets_plain") | Asset.ref(uri="s3://bucket/key")) & other,
    start_date=START,
):
    BashOperator(task_id="consume", bash_command="true")

with DAG(
    "assets_or_time",
    schedule=AssetOrTimeSchedule(timetable=CronTriggerTimetable("0 1 * * 3", timezone="UTC"), assets=[plain]),
    start_date=START,
    catchup=True,
):
    BashOperator(task_id="consume", bash_command="true")

with DAG("assets_mapped", schedule=None):
    BashOperator.partial(task_id="mapped", outlets=[with_uri], inlets=[plain]).expand(bash_command=["a", "b"])

    @task(outlets=[alias, other])
    def decorated():
        pass

    decorated()


@asset(schedule="@daily", uri="s3://bucket/decorated", tags=["decorated"])
def assets_decorated(self, assets_plain):
    pass


@asset.multi(schedule=None, outlets=[Asset("assets_multi_a"), Asset("assets_multi_b")])
def assets_multi():
    pass
