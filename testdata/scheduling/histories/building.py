"""Builds a DAG of the SDK from a blueprint."""

import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import BranchPythonOperator, ShortCircuitOperator
from airflow.sdk import DAG, Asset, TaskGroup, task_group
from airflow.sdk.definitions._internal.contextmanager import DagContext, TaskGroupContext

from histories.blueprint import Blueprint, Expand, Group, Node, Source
from histories.operators import LookOperator, NodeOperator, TriggerOperator, choose, kept

FIRST_DAY = datetime.datetime(2024, 3, 1, tzinfo=datetime.timezone.utc)
CLASSES = {
    "node": NodeOperator,
    "empty": EmptyOperator,
    "branch": BranchPythonOperator,
    "short": ShortCircuitOperator,
    "sensor": LookOperator,
    "trigger": TriggerOperator,
}
# What can be mapped over, where it is not what our own operators have.
ARGUMENTS = {"branch": ("op_args", "op_kwargs"), "short": ("op_args", "op_kwargs"), "empty": ("doc_md",)}


def build(dag_id: str, blueprint: Blueprint) -> DAG:
    dag = DAG(
        dag_id,
        schedule=datetime.timedelta(days=1),
        start_date=FIRST_DAY - datetime.timedelta(days=3),
        catchup=blueprint.catchup,
        fail_fast=blueprint.fail_fast,
        dagrun_timeout=blueprint.timeout and datetime.timedelta(seconds=blueprint.timeout),
    )
    try:
        with dag:
            Builder().items(blueprint.items, None)
    finally:
        # A group that the SDK refuses stays the current one.
        TaskGroupContext._context.clear()
        DagContext._context.clear()
    dag.fileloc = "/dags/histories.py"
    dag.relative_fileloc = "histories.py"
    return dag


class Builder:
    def __init__(self):
        self.built: dict = {}

    def items(self, items: list, argument) -> None:
        for item in items:
            if isinstance(item, Group):
                self.group(item, argument)
            else:
                self.node(item, argument)

    def group(self, group: Group, argument) -> None:
        if group.expand is None:
            with TaskGroup(group.name, prefix_group_id=group.prefix):
                self.items(group.items, argument)
            return

        @task_group(group_id=group.name, prefix_group_id=group.prefix)
        def mapped(a, b=None, c=None):
            self.items(group.items, a if group.uses_argument else None)

        self.expand(mapped, group.expand, "abc")

    def node(self, node: Node, argument) -> None:
        operator = CLASSES[node.kind]
        options = self.options(node)
        if node.expand is not None:
            partial = operator.partial(**options)
            task = self.expand(partial, node.expand, ARGUMENTS.get(node.kind, "abc"))
        else:
            if argument is not None and operator is NodeOperator:
                options["a"] = argument
            task = operator(**options)
        self.built[node.name] = task
        for name in node.upstream:
            task.set_upstream(self.built[name])
        if node.setup:
            task.as_setup()
        if node.teardown_of:
            setups = [self.built[name] for name in node.teardown_of]
            task.as_teardown(setups=setups, on_failure_fail_dagrun=node.fails_run)

    def options(self, node: Node) -> dict:
        options = {**node.options, "task_id": node.name}
        options["retry_delay"] = datetime.timedelta(seconds=options["retry_delay"])
        for edge in ("start", "end"):
            if f"{edge}_day" in options:
                options[f"{edge}_date"] = FIRST_DAY + datetime.timedelta(days=options.pop(f"{edge}_day"))
        if node.rule != "all_success":
            options["trigger_rule"] = node.rule
        if node.kind in ("branch", "short"):
            options["python_callable"] = choose
        if node.kind == "short" and node.respects_rules:
            options["ignore_downstream_trigger_rules"] = False
        if node.kind == "sensor" and node.reschedules:
            options["mode"] = "reschedule"
        if node.noticed_by:
            options[node.noticed_by] = [kept if "callback" in node.noticed_by else Asset("something")]
        return options

    def expand(self, partial, expand: Expand, names):
        if expand.kwargs:
            [source] = expand.sources
            return partial.expand_kwargs(self.source(source, [{names[0]: [0]}]))
        # A branch has few arguments to be mapped over.
        sources = expand.sources[: len(names)]
        return partial.expand(
            **{name: self.source(source, [[0]]) for name, source in zip(names, sources, strict=False)}
        )

    def source(self, source: Source, item: list):
        if source.form == "literal":
            return item * source.length
        first, *others = [self.built[name].output for name in source.names]
        match source.form:
            case "ref":
                return first
            case "map":
                return first.map(kept)
            case "zip":
                return first.zip(*others)
            case "zipf":
                return first.zip(*others, fillvalue=0)
            case _:
                return first.concat(*others)
