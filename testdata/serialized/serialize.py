"""Serializes DAGs with the real Airflow, and tells what it reads back.

usage: serialize.py folder... document...

Prints one line of JSON for every DAG of the example DAGs that Airflow and its providers bring, for every DAG
of the folders, and for every document: {"source": ..., "document": ..., "facts": ...}. The document is text.
The facts come from the object that a scheduler makes of the document. Times are microseconds since the
epoch, durations are microseconds.
"""

import json
import os
import sys
from datetime import timedelta
from pathlib import Path

import airflow
from airflow._shared.module_loading import qualname
from airflow.dag_processing.dagbag import DagBag
from airflow.models.expandinput import NotFullyPopulated
from airflow.partition_mappers.base import is_rollup
from airflow.serialization.decoders import decode_deadline_alert
from airflow.serialization.definitions.assets import SerializedAssetBase
from airflow.serialization.definitions.mappedoperator import is_mapped
from airflow.serialization.definitions.notset import is_arg_set
from airflow.serialization.definitions.taskgroup import SerializedTaskGroup
from airflow.serialization.serialized_objects import BaseSerialization, DagSerialization
from airflow.task.priority_strategy import get_weight_rule_from_priority_weight_strategy

FLAGS = [
    "depends_on_past",
    "ignore_first_depends_on_past",
    "wait_for_downstream",
    "email_on_failure",
    "email_on_retry",
    "is_setup",
    "is_teardown",
    "on_failure_fail_dagrun",
    "start_from_trigger",
    "has_on_execute_callback",
    "has_on_failure_callback",
    "has_on_retry_callback",
    "has_on_skipped_callback",
    "has_on_success_callback",
    "has_retry_policy",
    "_is_empty",
    "_can_skip_downstream",
]
# A mapped operator of the scheduler does not know these; it has them among its arguments.
FLAGS_OF_PLAIN_TASKS = [
    "wait_for_past_depends_before_skipping",
    "do_xcom_push",
    "multiple_outputs",
    "allow_nested_operators",
]


def main(arguments):
    # As a scheduler does: links would load code of plugins.
    BaseSerialization._load_operator_extra_links = False
    package = Path(airflow.__file__).parent
    folders = sorted({*package.glob("**/example_dags"), *map(Path, arguments)})
    # Airflow and the DAG files print what they like, but not here.
    with os.fdopen(os.dup(1), "w") as output:
        os.dup2(2, 1)
        for line in reports(folders, arguments):
            print(json.dumps(line), file=output)


def reports(folders, arguments):
    for folder in filter(Path.is_dir, folders):
        bag = DagBag(dag_folder=str(folder), safe_mode=True)
        for file, error in bag.import_errors.items():
            yield {"source": str(file), "error": error}
        for dag in sorted(bag.dags.values(), key=lambda dag: dag.dag_id):
            yield report(dag.fileloc, json.dumps(DagSerialization.to_dict(dag)))
    for document in filter(Path.is_file, map(Path, arguments)):
        yield report(str(document), document.read_text())


def report(source, document):
    dag = DagSerialization.from_dict(json.loads(document))
    facts = {"dag": about_dag(dag), "tasks": about_tasks(dag), "groups": about_groups(dag)}
    return {"source": source, "document": document, "facts": facts}


def about_dag(dag):
    restriction = dag._time_restriction
    return {
        "dag_id": dag.dag_id,
        "display_name": dag.dag_display_name,
        "description": dag.description,
        "doc_md": dag.doc_md,
        "fileloc": dag.fileloc,
        "relative_fileloc": dag.relative_fileloc,
        "timezone": dag.timezone.name,
        "timetable": about_timetable(dag.timetable),
        "assets": about_assets(dag.timetable.asset_condition),
        "rollups": [is_rollup(mapper) for mapper in mappers(dag.timetable)],
        "start_date": time(dag.start_date),
        "end_date": time(dag.end_date),
        "earliest_start": time(restriction.earliest),
        "latest_end": time(restriction.latest),
        "catchup": dag.catchup,
        "max_active_tasks": dag.max_active_tasks,
        "max_active_runs": dag.max_active_runs,
        "max_consecutive_failed_dag_runs": dag.max_consecutive_failed_dag_runs,
        "dagrun_timeout": duration(dag.dagrun_timeout),
        "fail_fast": dag.fail_fast,
        "is_paused_upon_creation": dag.is_paused_upon_creation,
        "has_on_success_callback": dag.has_on_success_callback,
        "has_on_failure_callback": dag.has_on_failure_callback,
        "render_template_as_native_obj": dag.render_template_as_native_obj,
        "disable_bundle_versioning": dag.disable_bundle_versioning,
        "rerun_with_latest_version": dag.rerun_with_latest_version,
        "allowed_run_types": dag.allowed_run_types and sorted(map(str, dag.allowed_run_types)),
        "tags": sorted(dag.tags),
        "owner_links": dag.owner_links,
        "access_control": dag.access_control is not None,
        "params": about_params(dag.params),
        "deadlines": [about_deadline(deadline) for deadline in dag.deadline or []],
        "dependencies": dag.dag_dependencies,
    }


def about_deadline(deadline):
    if isinstance(deadline, str):
        return deadline
    alert = decode_deadline_alert(deadline)
    name, reference = alert.reference.reference_name, alert.reference.serialize_reference()
    reference.pop("reference_type")
    if "datetime" in reference:
        reference["datetime"] = round(reference["datetime"] * 1_000_000)
    interval = alert.interval
    interval = duration(interval) if isinstance(interval, timedelta) else interval.key
    return [alert.name, [name, *reference.values()], interval]


def about_timetable(timetable):
    facts = {"type_name": timetable.type_name}
    # Of a class of somebody's own only Python knows more.
    if type(timetable).__module__.startswith("airflow.timetables."):
        facts |= {
            "summary": timetable.summary,
            "description": timetable.description,
            "periodic": timetable.periodic,
            "can_be_scheduled": timetable.can_be_scheduled,
            "partitioned": timetable.partitioned,
            "active_runs_limit": timetable.active_runs_limit,
            "run_ordering": list(timetable.run_ordering),
        }
    return facts


def mappers(timetable):
    if not hasattr(timetable, "default_partition_mapper"):
        return []
    return [timetable.default_partition_mapper, *timetable.partition_mapper_config.values()]


def about_assets(condition):
    return {
        # Of what was a dataset, in a timetable, Airflow knows only the address.
        "assets": [
            [key.name or key.uri, key.uri, asset.group or "asset", asset.extra or {}]
            for key, asset in condition.iter_assets()
        ],
        "watchers": [
            [watcher.name, watcher.trigger["classpath"]]
            for _, asset in condition.iter_assets()
            for watcher in asset.watchers
        ],
        "aliases": [[name, alias.group] for name, alias in condition.iter_asset_aliases()],
        "refs": [
            ["name", ref.name] if hasattr(ref, "name") else ["uri", ref.uri]
            for ref in condition.iter_asset_refs()
        ],
    }


def about_params(params):
    return [
        [name, is_arg_set(param.value), plain(param.value), param.description, param.schema, param.source]
        for name, param in params.items()
    ]


def about_tasks(dag):
    return [about_task(dag, task) for task in dag.tasks]


def about_task(dag, task):
    facts = {flag: bool(getattr(task, flag)) for flag in FLAGS}
    if not is_mapped(task):
        facts |= {flag: bool(getattr(task, flag)) for flag in FLAGS_OF_PLAIN_TASKS}
    return facts | {
        "task_id": task.task_id,
        "task_type": task.task_type,
        "module": task._task_module,
        "operator_name": task.operator_name,
        "display_name": task.task_display_name,
        "ui_color": task.ui_color,
        "ui_fgcolor": task.ui_fgcolor,
        "template_fields": list(task.template_fields),
        "owner": task.owner,
        "pool": task.pool,
        "pool_slots": task.pool_slots,
        "queue": task.queue,
        "priority_weight": task.priority_weight,
        "weight_rule": weight_rule(task),
        "trigger_rule": str(task.trigger_rule),
        "retries": task.retries,
        "retry_delay": duration(task.retry_delay),
        "retry_exponential_backoff": float(task.retry_exponential_backoff),
        "max_retry_delay": duration(task.max_retry_delay),
        "execution_timeout": duration(task.execution_timeout),
        "start_date": time(task.start_date),
        "end_date": time(task.end_date),
        "upstream": sorted(task.upstream_task_ids),
        "downstream": sorted(task.downstream_task_ids),
        "group": task.task_group.group_id,
        "needs_expansion": bool(task.get_needs_expansion()),
        "mapped_groups": [group.group_id for group in task.iter_mapped_task_groups()],
        "expand": about_expansion(task, task._get_specified_expand_input) if is_mapped(task) else None,
        "is_sensor": any(type(dep).__name__ == "ReadyToRescheduleDep" for dep in task.deps),
        "max_active_tis_per_dag": task.max_active_tis_per_dag,
        "max_active_tis_per_dagrun": task.max_active_tis_per_dagrun,
        "executor": task.executor,
        "has_executor_config": bool(task.executor_config),
        "run_as_user": task.run_as_user,
        "email": [task.email] if isinstance(task.email, str) else list(task.email or []),
        "map_index_template": task.map_index_template,
        "doc_md": task.doc_md,
        "params": about_params(task.params),
        "inlets": [about_assets(asset) for asset in assets(task.inlets)],
        "outlets": [about_assets(asset) for asset in assets(task.outlets)],
        "start_trigger": task.start_trigger_args and task.start_trigger_args.trigger_cls,
    }


def assets(things):
    # What a mapped operator has among its arguments, Airflow decodes only where it needs it.
    decoded = [BaseSerialization.deserialize(thing) if isinstance(thing, dict) else thing for thing in things]
    return [thing for thing in decoded if isinstance(thing, SerializedAssetBase)]


def weight_rule(task):
    try:
        return str(get_weight_rule_from_priority_weight_strategy(type(task.weight_rule)))
    except KeyError:
        return qualname(type(task.weight_rule))


def about_expansion(node, expand_input):
    """How many there are, as far as the document tells, and which tasks decide about the rest."""
    try:
        count = expand_input().get_parse_time_mapped_ti_count()
    except NotFullyPopulated:
        count = None
    return {
        "kind": expand_input().EXPAND_INPUT_TYPE,
        "count": count,
        "dependencies": sorted({task.task_id for task in node.iter_mapped_dependencies()}),
    }


def about_groups(dag):
    return {
        group.node_id: {
            "label": group.label,
            "tooltip": group.tooltip,
            "ui_color": group.ui_color,
            "doc_md": group.doc_md,
            "prefix_group_id": group.prefix_group_id,
            "parent": group.parent_group.node_id if group.parent_group else None,
            "children": [
                ["group" if isinstance(child, SerializedTaskGroup) else "task", child.node_id]
                for child in group.children.values()
            ],
            "upstream_groups": sorted(group.upstream_group_ids),
            "downstream_groups": sorted(group.downstream_group_ids),
            "upstream_tasks": sorted(group.upstream_task_ids),
            "downstream_tasks": sorted(group.downstream_task_ids),
            "expand": about_expansion(group, lambda group=group: group._expand_input)
            if is_mapped(group)
            else None,
        }
        for group in dag.task_group.get_task_group_dict().values()
    }


def plain(value):
    """A value as JSON has it: a tuple is a list."""
    return json.loads(json.dumps(value)) if is_arg_set(value) else None


def time(moment):
    return None if moment is None else round(moment.timestamp() * 1_000_000)


def duration(delta):
    return None if delta is None else delta // timedelta(microseconds=1)


if __name__ == "__main__":
    main(sys.argv[1:])
