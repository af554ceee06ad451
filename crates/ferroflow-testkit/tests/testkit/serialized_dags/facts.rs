//! What we read in a document, in the words of `serialize.py`.

use ferroflow_model::Json;
use ferroflow_model::asset::{AssetCondition, AssetRef};
use ferroflow_model::dag::{
    Dag, Deadline, DeadlineInterval, DeadlineReference, ExpandInput, Flag, GroupChild, Param, ParamSource,
    Task, TaskGroup, TaskIndex,
};
use ferroflow_model::timetable::Timetable;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// Everything about a DAG.
pub(crate) fn of(dag: &Dag) -> Value {
    let tasks: Vec<Value> = dag.indexed_tasks().map(|(index, _)| about_task(dag, index)).collect();
    let groups: Map<String, Value> = dag
        .groups()
        .iter()
        .map(|group| (group.group_id.as_deref().unwrap_or("").to_owned(), about_group(dag, group)))
        .collect();
    json!({"dag": about_dag(dag), "tasks": tasks, "groups": groups})
}

fn about_dag(dag: &Dag) -> Value {
    let no_assets = AssetCondition::All(Vec::new());
    json!({
        "dag_id": *dag.dag_id,
        "display_name": *dag.display_name,
        "description": dag.description,
        "doc_md": dag.doc_md,
        "fileloc": dag.fileloc,
        "relative_fileloc": dag.relative_fileloc,
        "timezone": dag.timezone.to_string(),
        "timetable": about_timetable(&dag.timetable),
        "assets": about_assets(dag.timetable.assets().unwrap_or(&no_assets)),
        "rollups": rollups(&dag.timetable),
        "start_date": time(dag.start_date),
        "end_date": time(dag.end_date),
        "earliest_start": time(dag.earliest_start()),
        "latest_end": time(dag.latest_end()),
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
        "allowed_run_types": dag.allowed_run_types.as_ref().map(|types| {
            let mut words: Vec<&str> = types.iter().map(|run_type| run_type.as_str()).collect();
            words.sort_unstable();
            words
        }),
        "tags": dag.tags,
        "owner_links": dag.owner_links.iter().map(|(owner, link)| (owner.to_string(), json!(link)))
            .collect::<Map<_, _>>(),
        "access_control": dag.access_control.is_some(),
        "params": about_params(&dag.params),
        "deadlines": dag.deadlines.iter().map(about_deadline).collect::<Vec<_>>(),
        "dependencies": dag.dependencies.iter().map(|dependency| json!({
            "source": dependency.source,
            "target": dependency.target,
            "label": dependency.label,
            "dependency_type": dependency.dependency_type,
            "dependency_id": dependency.dependency_id,
        })).collect::<Vec<_>>(),
    })
}

fn about_deadline(deadline: &Deadline) -> Value {
    let alert = match deadline {
        Deadline::Stored(id) => return json!(id.to_string()),
        Deadline::Inline(alert) => alert,
    };
    let reference = match &alert.reference {
        DeadlineReference::LogicalDate => json!(["DagRunLogicalDateDeadline"]),
        DeadlineReference::QueuedAt => json!(["DagRunQueuedAtDeadline"]),
        DeadlineReference::Fixed(at) => json!(["FixedDatetimeDeadline", time(Some(*at))]),
        DeadlineReference::AverageRuntime { max_runs, min_runs } => {
            json!(["AverageRuntimeDeadline", max_runs, min_runs])
        }
        DeadlineReference::Custom { class, .. } => json!([class]),
    };
    let interval = match &alert.interval {
        DeadlineInterval::Fixed(interval) => json!(duration(Some(*interval))),
        DeadlineInterval::Variable(key) => json!(key),
    };
    json!([alert.name, reference, interval])
}

fn about_timetable(timetable: &Timetable) -> Value {
    let facts = timetable.facts();
    if matches!(timetable, Timetable::Custom(_)) {
        return json!({"type_name": facts.type_name});
    }
    json!({
        "type_name": facts.type_name,
        "summary": facts.summary,
        "description": facts.description,
        "periodic": facts.periodic,
        "can_be_scheduled": facts.can_be_scheduled,
        "partitioned": facts.partitioned,
        "active_runs_limit": facts.active_runs_limit,
        "run_ordering": facts.run_ordering,
    })
}

fn rollups(timetable: &Timetable) -> Vec<bool> {
    let Timetable::PartitionedAsset(partitioned) = timetable else { return Vec::new() };
    let configured = partitioned.mappers.iter().map(|(_, mapper)| mapper.is_rollup());
    std::iter::once(partitioned.default_mapper.is_rollup()).chain(configured).collect()
}

fn about_assets(condition: &AssetCondition) -> Value {
    let assets = condition.assets();
    let watchers = condition.assets().flat_map(|asset| &asset.watchers);
    json!({
        "assets": assets
            .map(|asset| json!([asset.name, asset.uri, asset.group, value(&asset.extra)]))
            .collect::<Vec<_>>(),
        "watchers": watchers.map(|watcher| [&watcher.name, &watcher.trigger_class]).collect::<Vec<_>>(),
        "aliases": condition.aliases().map(|alias| [&alias.name, &alias.group]).collect::<Vec<_>>(),
        "refs": condition.refs().map(|reference| match reference {
            AssetRef::Name(name) => json!(["name", name]),
            AssetRef::Uri(uri) => json!(["uri", uri]),
        }).collect::<Vec<_>>(),
    })
}

fn about_params(params: &[Param]) -> Vec<Value> {
    let about = |param: &Param| {
        json!([
            param.name,
            param.value.is_some(),
            param.value.as_ref().map(value),
            param.description,
            value(&param.schema),
            param.source.map(|source| match source {
                ParamSource::Dag => "dag",
                ParamSource::Task => "task",
            }),
        ])
    };
    params.iter().map(about).collect()
}

fn about_task(dag: &Dag, index: TaskIndex) -> Value {
    let task = &dag[index];
    let mut facts = json!({
        "task_id": *task.task_id,
        "task_type": *task.operator.task_type,
        "module": *task.operator.module,
        "operator_name": *task.operator.name,
        "display_name": task.display_name(),
        "ui_color": *task.operator.ui_color,
        "ui_fgcolor": *task.operator.ui_fgcolor,
        "template_fields": texts(&task.operator.template_fields),
        "owner": *task.owner,
        "pool": *task.pool,
        "pool_slots": task.pool_slots,
        "queue": *task.queue,
        "priority_weight": task.priority_weight,
        "weight_rule": task.weight_rule.as_str(),
        "trigger_rule": task.trigger_rule.as_str(),
        "retries": task.retries,
        "retry_delay": duration(Some(task.retry_delay)),
        "execution_timeout": duration(task.execution_timeout),
        "start_date": time(task.start_date),
        "end_date": time(task.end_date),
        "upstream": ids(dag, dag.graph().upstream(index)),
        "downstream": ids(dag, dag.graph().downstream(index)),
        "group": dag[task.group].group_id.as_deref(),
        "needs_expansion": dag.needs_expansion(index),
        "mapped_groups": dag.mapped_groups_of(index).map(|group| group.group_id.as_deref())
            .collect::<Vec<_>>(),
        "expand": task.details().expand.as_ref().map(|input| about_expansion(dag, input)),
        "is_sensor": task.is(Flag::IsSensor),
        "params": about_params(task.params.as_deref().map_or(&[], Vec::as_slice)),
    });
    extend(&mut facts, about_details(task));
    extend(&mut facts, about_flags(task));
    facts
}

fn about_details(task: &Task) -> Value {
    let details = task.details();
    json!({
        "retry_exponential_backoff": details.retry_exponential_backoff,
        "max_retry_delay": duration(details.max_retry_delay),
        "max_active_tis_per_dag": details.max_active_tis_per_dag,
        "max_active_tis_per_dagrun": details.max_active_tis_per_dagrun,
        "executor": details.executor.as_deref(),
        "has_executor_config": details.executor_config.is_some(),
        "run_as_user": details.run_as_user.as_deref(),
        "email": texts(&details.email),
        "map_index_template": details.map_index_template.as_deref(),
        "doc_md": details.doc_md.as_deref(),
        "inlets": details.inlets.iter().map(about_assets).collect::<Vec<_>>(),
        "outlets": details.outlets.iter().map(about_assets).collect::<Vec<_>>(),
        "start_trigger": details.start_trigger.as_ref().map(|trigger| &*trigger.trigger_class),
    })
}

/// A mapped operator of Airflow's scheduler does not answer to all of them.
fn about_flags(task: &Task) -> Value {
    let unanswered = |flag: &&Flag| match flag {
        Flag::IsSensor | Flag::Reschedules => true,
        Flag::WaitForPastDependsBeforeSkipping
        | Flag::DoXcomPush
        | Flag::MultipleOutputs
        | Flag::AllowNestedOperators => task.is_mapped(),
        _ => false,
    };
    let flags = Flag::ALL.iter().filter(|flag| !unanswered(flag));
    Value::Object(flags.map(|flag| (flag.key().to_owned(), json!(task.is(*flag)))).collect())
}

fn about_expansion(dag: &Dag, input: &ExpandInput) -> Value {
    json!({
        "kind": match input {
            ExpandInput::DictOfLists(_) => "dict-of-lists",
            ExpandInput::ListOfDicts { .. } => "list-of-dicts",
        },
        "count": input.length(|_| None),
        "dependencies": ids(dag, &input.dependencies()),
    })
}

fn about_group(dag: &Dag, group: &TaskGroup) -> Value {
    let node_id = |group: &TaskGroup| group.group_id.as_deref().unwrap_or("").to_owned();
    let children = group.children.iter().map(|child| match child {
        GroupChild::Task(task) => json!(["task", *dag[*task].task_id]),
        GroupChild::Group(group) => json!(["group", node_id(&dag[*group])]),
    });
    let group_ids = |groups: &[_]| {
        let mut ids: Vec<String> = groups.iter().map(|group| node_id(&dag[*group])).collect();
        ids.sort_unstable();
        ids
    };
    json!({
        "label": *group.label,
        "tooltip": *group.tooltip,
        "ui_color": *group.ui_color,
        "doc_md": group.doc_md.as_deref(),
        "prefix_group_id": group.prefix_group_id,
        "parent": group.parent.map(|parent| node_id(&dag[parent])),
        "children": children.collect::<Vec<_>>(),
        "upstream_groups": group_ids(&group.upstream_groups),
        "downstream_groups": group_ids(&group.downstream_groups),
        "upstream_tasks": ids(dag, &group.upstream_tasks),
        "downstream_tasks": ids(dag, &group.downstream_tasks),
        "expand": group.expand.as_ref().map(|input| about_expansion(dag, input)),
    })
}

fn ids<'d>(dag: &'d Dag, tasks: &[TaskIndex]) -> Vec<&'d str> {
    let mut ids: Vec<&str> = tasks.iter().map(|task| &*dag[*task].task_id).collect();
    ids.sort_unstable();
    ids
}

fn texts(texts: &[std::sync::Arc<str>]) -> Vec<&str> {
    texts.iter().map(|text| &**text).collect()
}

fn value(json: &Json) -> Value {
    json.value().unwrap()
}

fn time(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_microsecond)
}

fn duration(duration: Option<SignedDuration>) -> Option<i64> {
    duration.map(|duration| i64::try_from(duration.as_micros()).unwrap())
}

fn extend(facts: &mut Value, more: Value) {
    if let (Value::Object(facts), Value::Object(more)) = (facts, more) {
        facts.extend(more);
    }
}
