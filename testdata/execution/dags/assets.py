"""Assets: events with extra, through aliases, with partitions, and reading them."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, AssetAlias, Metadata, PartitionedAtRuntime, asset, task
from airflow.sdk.exceptions import AirflowSkipException
from tracing import START

PLAIN = Asset("ex_plain", uri="x-test://bucket/plain")
EXTRA = Asset("ex_extra", extra={"of": "the asset"})
YIELDED = Asset("ex_yielded")
FAILED = Asset("ex_failed")
MAPPED = Asset("ex_mapped")
NEVER = Asset("ex_never")
THROUGH = Asset("ex_through_alias", uri="x-test://bucket/through")
ALIAS = AssetAlias("ex_alias")
UNUSED_ALIAS = AssetAlias("ex_alias_unused")
PARTED = Asset("ex_parted")
READ = Asset("ex_read")

with DAG("assets_waiting_for_one", schedule=[PLAIN], start_date=START):
    EmptyOperator(task_id="runs")

with DAG("assets_waiting_for_both", schedule=PLAIN & NEVER, start_date=START):
    EmptyOperator(task_id="runs")

with DAG("assets_waiting_for_any", schedule=EXTRA | MAPPED | THROUGH, start_date=START):
    EmptyOperator(task_id="runs")

with DAG("assets_waiting_for_alias", schedule=[ALIAS], start_date=START):
    EmptyOperator(task_id="runs")

with DAG(
    "assets_waiting_by_name",
    schedule=[Asset.ref(name="ex_plain"), Asset.ref(uri="ex_extra")],
    start_date=START,
):
    EmptyOperator(task_id="runs")

with DAG("assets_waiting_for_none", schedule=[FAILED], start_date=START):
    EmptyOperator(task_id="runs")

with DAG("assets_produce", schedule=None, start_date=START):
    BashOperator(task_id="plain", bash_command="echo produced", outlets=[PLAIN])

    @task(outlets=[EXTRA, PLAIN])
    def extra(*, outlet_events=None):
        outlet_events[EXTRA].extra = {"rows": 5, "nested": {"ünï": [None, True, 1.5]}}
        outlet_events[PLAIN].extra["set"] = "by key"

    @task(outlets=[YIELDED])
    def yielded():
        yield Metadata(YIELDED, {"from": "yield"})
        yield Metadata(YIELDED, {"and": "again"})

    @task(outlets=[FAILED])
    def failed(*, outlet_events=None):
        outlet_events[FAILED].extra = {"never": "seen"}
        raise ValueError("no event")

    @task(outlets=[FAILED])
    def skipped():
        raise AirflowSkipException("no event")

    @task(outlets=[MAPPED])
    def mapped(number, *, outlet_events=None):
        outlet_events[MAPPED].extra = {"number": number}

    @task(outlets=[ALIAS])
    def through_alias(*, outlet_events=None):
        outlet_events[ALIAS].add(THROUGH, extra={"through": "alias"})
        outlet_events[ALIAS].add(Asset("ex_not_known", uri="x-test://bucket/new"))

    @task(outlets=[ALIAS, UNUSED_ALIAS])
    def yields_to_alias():
        yield Metadata(THROUGH, extra={"through": "yield"}, alias=ALIAS)

    @task(outlets=[Asset("ex_read")])
    def to_be_read(number, *, outlet_events=None):
        outlet_events[READ].extra = {"number": number}

    @task(outlets=[PLAIN])
    def not_an_outlet(*, outlet_events=None):
        outlet_events[NEVER].extra = {"undeclared": True}

    @task(outlets=[PLAIN])
    def extra_not_json(*, outlet_events=None):
        outlet_events[PLAIN].extra = {"an": object()}

    extra()
    yielded()
    failed()
    skipped()
    mapped.expand(number=[1, 2])
    through_alias()
    yields_to_alias()
    to_be_read(1) >> to_be_read.override(task_id="to_be_read_again")(2)
    not_an_outlet()
    extra_not_json()
    EmptyOperator(task_id="empty_outlet", outlets=[Asset("ex_by_empty")])

with DAG("assets_read", schedule=None, start_date=START):

    @task(inlets=[READ, PLAIN, NEVER, ALIAS])
    def read(*, inlet_events=None):
        events = inlet_events[READ]
        return {
            "extras": [event.extra for event in events],
            "count": len(events),
            "last": events[-1].extra,
            "source": [events[0].source_task_id, events[0].source_dag_id, events[0].source_map_index],
            "asset": [events[0].asset.name, events[0].asset.uri],
            "newest_first": [event.extra for event in events.ascending(False)],
            "limited": [event.extra for event in events.limit(1)],
            "after": len(events.after("2100-01-01T00:00:00Z")),
            "never": len(inlet_events[NEVER]),
            "alias": sorted(event.asset.name for event in inlet_events[ALIAS]),
            "by_ref": len(inlet_events[Asset.ref(name="ex_read")]),
        }

    BashOperator(
        task_id="read_in_template",
        inlets=[READ],
        bash_command="echo '{{ inlet_events.for_asset(name='ex_read')[-1].extra | tojson }}'",
    )

    @task(inlets=[READ])
    def not_an_inlet(*, inlet_events=None):
        return len(inlet_events[PLAIN])

    @task
    def triggering(triggering_asset_events=None):
        return len(triggering_asset_events)

    read()
    not_an_inlet()
    triggering()

with DAG("assets_partitioned", schedule=PartitionedAtRuntime(), start_date=START):

    @task(outlets=[PARTED])
    def parted(*, outlet_events=None):
        outlet_events[PARTED].add_partitions(["a", "b", "a"])

    @task(outlets=[PARTED])
    def parted_once(*, outlet_events=None, partition_key=None):
        outlet_events[PARTED].add_partitions("c")
        outlet_events[PARTED].extra = {"key": partition_key}

    parted()
    parted_once()


@asset(schedule=None, uri="x-test://bucket/decorated")
def assets_decorated(self, context, ex_read):
    return [self.name, ex_read.name, context["ds"]]


@asset.multi(schedule=None, outlets=[Asset("ex_multi_one"), Asset("ex_multi_two")])
def assets_multi(context, outlet_events):
    outlet_events[Asset("ex_multi_one")].extra = {"one": 1}
