//! A DAG as `list` and `details` show it: the fields of the REST API's answer, in its order.

use ferroflow_config::Secret;
use ferroflow_db::dag::list::TaggedDag;
use ferroflow_model::state::RunType;
use ferroflow_model::stored_dag::{ParsedDag, TimetableColumns};
use ferroflow_model::{python_datetime, python_float};
use jiff::Timestamp;

use super::file_token::file_token;
use crate::output::Cell;

/// The names of the fields.
pub(super) const FIELDS: [&str; 30] = [
    "dag_id",
    "dag_display_name",
    "is_paused",
    "is_stale",
    "last_parsed_time",
    "last_parse_duration",
    "last_expired",
    "bundle_name",
    "bundle_version",
    "relative_fileloc",
    "fileloc",
    "description",
    "timetable_summary",
    "timetable_description",
    "timetable_partitioned",
    "timetable_periodic",
    "tags",
    "max_active_tasks",
    "max_active_runs",
    "max_consecutive_failed_dag_runs",
    "has_task_concurrency_limits",
    "has_import_errors",
    "next_dagrun_logical_date",
    "next_dagrun_data_interval_start",
    "next_dagrun_data_interval_end",
    "next_dagrun_run_after",
    "allowed_run_types",
    "owners",
    "is_backfillable",
    "file_token",
];

/// What the database says about a DAG. Without a `[api] secret_key` no API server knows a token that is made here,
/// and there is none.
pub(super) fn of_row(tagged: &TaggedDag, secret_key: Option<&Secret>) -> Vec<(&'static str, Cell)> {
    let TaggedDag { dag, tags } = tagged;
    let display_name = dag.dag_display_name.as_deref().unwrap_or(&dag.dag_id);
    let run_types: Option<Vec<String>> =
        dag.allowed_run_types.as_ref().and_then(|types| serde_json::from_str(types.text()).ok());
    let is_backfillable = dag.timetable_periodic && allows_backfills(run_types.as_deref());
    let owners = dag.owners.iter().flat_map(|owners| owners.split(',')).map(|owner| Cell::from(owner.trim()));
    let token = secret_key.map(|key| file_token(key, &dag.bundle_name, dag.relative_fileloc.as_deref()));
    let values = [
        Cell::from(dag.dag_id.as_str()),
        Cell::from(display_name),
        Cell::from(dag.is_paused),
        Cell::from(dag.is_stale),
        time(dag.last_parsed_time),
        Cell::from(dag.last_parse_duration.map(python_float)),
        time(dag.last_expired),
        Cell::from(dag.bundle_name.as_str()),
        text(dag.bundle_version.as_deref()),
        text(dag.relative_fileloc.as_deref()),
        text(dag.fileloc.as_deref()),
        text(dag.description.as_deref()),
        text(summary(dag.timetable_summary.as_deref())),
        text(dag.timetable_description.as_deref()),
        Cell::from(dag.timetable_partitioned),
        Cell::from(dag.timetable_periodic),
        Cell::List(tags.iter().map(|tag| tag_of(tag, &dag.dag_id, display_name)).collect()),
        Cell::Text(dag.max_active_tasks.to_string()),
        Cell::from(dag.max_active_runs.map(|runs| runs.to_string())),
        Cell::Text(dag.max_consecutive_failed_dag_runs.to_string()),
        Cell::from(dag.has_task_concurrency_limits),
        dag.has_import_errors.map_or(Cell::Nothing, Cell::from),
        time(dag.next_dagrun),
        time(dag.next_dagrun_data_interval_start),
        time(dag.next_dagrun_data_interval_end),
        time(dag.next_dagrun_create_after),
        run_types.map_or(Cell::Nothing, |types| list(types.iter().map(String::as_str))),
        Cell::List(owners.collect()),
        Cell::from(is_backfillable),
        Cell::from(token),
    ];
    FIELDS.into_iter().zip(values).collect()
}

/// What a file says about a DAG that the database does not have: what only the database knows is left out.
pub(super) fn of_file(parsed: &ParsedDag) -> Vec<(&'static str, Cell)> {
    let dag = &parsed.dag;
    let facts = dag.timetable.facts();
    let run_types: Option<Vec<String>> = dag
        .allowed_run_types
        .as_ref()
        .map(|types| types.iter().map(|run_type| run_type.as_str().to_owned()).collect());
    let mut owners: Vec<&str> = dag.tasks().iter().map(|task| &*task.owner).collect();
    owners.sort_unstable();
    owners.dedup();
    let known = [
        ("dag_id", Cell::from(&*dag.dag_id)),
        ("dag_display_name", Cell::from(&*dag.display_name)),
        ("relative_fileloc", text(dag.relative_fileloc.as_deref())),
        ("fileloc", text(dag.fileloc.as_deref())),
        ("description", text(dag.description.as_deref())),
        ("timetable_summary", Cell::from(facts.summary.as_str())),
        ("timetable_description", Cell::from(facts.description.as_str())),
        ("timetable_partitioned", Cell::from(facts.partitioned)),
        ("timetable_periodic", Cell::from(facts.periodic)),
        (
            "tags",
            Cell::List(dag.tags.iter().map(|tag| tag_of(tag, &dag.dag_id, &dag.display_name)).collect()),
        ),
        ("max_active_tasks", Cell::Text(dag.max_active_tasks.to_string())),
        ("max_active_runs", Cell::Text(dag.max_active_runs.to_string())),
        ("max_consecutive_failed_dag_runs", Cell::Text(dag.max_consecutive_failed_dag_runs.to_string())),
        ("has_task_concurrency_limits", Cell::from(parsed.has_task_concurrency_limits)),
        ("has_import_errors", Cell::from(false)),
        ("is_backfillable", Cell::from(facts.periodic && allows_backfills(run_types.as_deref()))),
        (
            "allowed_run_types",
            run_types.map_or(Cell::Nothing, |types| list(types.iter().map(String::as_str))),
        ),
        ("owners", list(owners.into_iter())),
    ];
    let value = |name| known.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    FIELDS.into_iter().map(|name| (name, value(name).unwrap_or(Cell::Nothing))).collect()
}

/// Puts what Python says about a timetable in the place of what the class alone tells.
pub(super) fn set_timetable(fields: &mut [(&'static str, Cell)], columns: &TimetableColumns) {
    let run_types = fields.iter().find(|(name, _)| *name == "allowed_run_types").map(|(_, value)| value);
    let allows_backfills = match run_types {
        Some(Cell::List(types)) => types.contains(&Cell::from(RunType::Backfill.as_str())),
        _ => true,
    };
    for (name, value) in fields {
        match *name {
            "is_backfillable" => *value = Cell::from(columns.periodic && allows_backfills),
            "timetable_summary" => *value = text(columns.summary.as_deref()),
            "timetable_description" => *value = text(columns.description.as_deref()),
            "timetable_partitioned" => *value = Cell::from(columns.partitioned),
            "timetable_periodic" => *value = Cell::from(columns.periodic),
            _ => {}
        }
    }
}

fn time(at: Option<Timestamp>) -> Cell {
    Cell::from(at.map(python_datetime))
}

fn text(text: Option<&str>) -> Cell {
    text.map_or(Cell::Nothing, Cell::from)
}

fn list<'a>(texts: impl Iterator<Item = &'a str>) -> Cell {
    Cell::List(texts.map(Cell::from).collect())
}

/// The schedule of a DAG without one is called `None`, which is then taken for nothing.
fn summary(summary: Option<&str>) -> Option<&str> {
    summary.filter(|summary| *summary != "None")
}

fn allows_backfills(run_types: Option<&[String]>) -> bool {
    run_types.is_none_or(|types| types.iter().any(|name| name == RunType::Backfill.as_str()))
}

fn tag_of(tag: &str, dag_id: &str, display_name: &str) -> Cell {
    Cell::Map(vec![
        ("name".into(), Cell::from(tag)),
        ("dag_id".into(), Cell::from(dag_id)),
        ("dag_display_name".into(), Cell::from(display_name)),
    ])
}
