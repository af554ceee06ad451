//! From a document to a DAG.
//!
//! Places leave out what every document has: `tasks[3].retries` is `dag.tasks[3].__var.retries`.

mod expand;
mod fields;
mod groups;
mod operator;
mod strings;
mod tasks;

use std::sync::Arc;

use jiff::Timestamp;

use super::deadline::read_deadlines;
use super::graph::{Graph, TaskIndex};
use super::param::read_params;
use super::{Dag, DagDependency, Structure, upgrade};
use crate::Json;
use crate::document::{self, Problems, Reader, Value, parse, read_value, with_arena};
use crate::timetable::Timetable;
use crate::timetable::Zone;
use groups::read_groups;
use strings::Strings;
use tasks::{ReadTasks, TaskNames, read_tasks};

/// The formats that can be read. The first is one of Airflow 2, the second of Airflow 3.0.
const VERSIONS: [i64; 3] = [1, 2, 3];

/// A cycle of more tasks is shown by its beginning.
const MAX_NAMES_OF_A_CYCLE: usize = 10;

/// Reads a document.
pub(super) fn decode(text: &str) -> Result<Dag, Problems> {
    with_arena(|arena| {
        let document = parse(text, arena)?;
        if document.get("__version") == Some(&Value::Int(1)) {
            let rewritten = upgrade::to_current(document.to_json_value()).to_string();
            return document::decode(&rewritten, read_document);
        }
        read_value(&document, read_document)
    })
}

fn read_document<'v>(reader: &mut Reader<'v>, document: &'v Value<'v>) -> Option<Dag> {
    reader.object(document)?;
    reader.required(document, "__version", |reader, version| match version {
        Value::Int(number) if VERSIONS.contains(number) => Some(()),
        Value::Int(number) => {
            reader.problem(format_args!("format {number} is not known (known: 1, 2, 3)"));
            None
        }
        other => {
            reader.expected("an integer", other);
            None
        }
    })?;
    let defaults = reader.optional(document, "client_defaults", |reader, defaults| {
        reader.object(defaults)?;
        reader.optional(defaults, "tasks", Reader::object)
    });
    let Some(dag) = document.get("dag") else {
        reader.within("dag", |reader| reader.problem("is missing"));
        return None;
    };
    if !matches!(dag, Value::Object(_)) {
        reader.within("dag", |reader| reader.expected("an object", dag));
        return None;
    }
    read_dag(reader, dag, defaults.unwrap_or_default())
}

fn read_dag<'v>(
    reader: &mut Reader<'v>,
    dag: &'v Value<'v>,
    defaults: &'v [(&'v str, Value<'v>)],
) -> Option<Dag> {
    let dag_id = reader.required(dag, "dag_id", Reader::text);
    let mut fields = Fields { reader, dag };
    let dates = Dates { start: fields.instant("start_date"), end: fields.instant("end_date") };
    let timetable = fields.reader.required(dag, "timetable", Timetable::read);
    let structure = read_structure(fields.reader, dag, defaults, dates);
    // What may be missing comes last: everything before it is read, and what is wrong there is found.
    Some(Dag {
        display_name: fields.text("dag_display_name").or(dag_id).unwrap_or_default().into(),
        description: fields.text("description").map(Into::into),
        doc_md: fields.text("doc_md").map(Into::into),
        fileloc: fields.text("fileloc").map(Into::into),
        relative_fileloc: fields.text("relative_fileloc").map(Into::into),
        processor_dags_folder: fields.text("_processor_dags_folder").map(Into::into),
        timezone: fields.get("timezone", Zone::read).unwrap_or(Zone::UTC),
        start_date: dates.start,
        end_date: dates.end,
        catchup: fields.flag("catchup").unwrap_or(false),
        max_active_tasks: fields.integer("max_active_tasks").unwrap_or(16),
        max_active_runs: fields.integer("max_active_runs").unwrap_or(16),
        max_consecutive_failed_dag_runs: fields.integer("max_consecutive_failed_dag_runs").unwrap_or(0),
        dagrun_timeout: fields.get("dagrun_timeout", |reader, value| reader.seconds(value)),
        fail_fast: fields.flag("fail_fast").unwrap_or(false),
        is_paused_upon_creation: fields.flag("is_paused_upon_creation"),
        // Airflow looks only at whether the key is there.
        has_on_success_callback: dag.get("has_on_success_callback").is_some(),
        has_on_failure_callback: dag.get("has_on_failure_callback").is_some(),
        render_template_as_native_obj: fields.flag("render_template_as_native_obj").unwrap_or(false),
        disable_bundle_versioning: fields.flag("disable_bundle_versioning").unwrap_or(false),
        rerun_with_latest_version: fields.flag("rerun_with_latest_version"),
        allowed_run_types: fields.list("allowed_run_types", Reader::word).filter(|types| !types.is_empty()),
        tags: read_tags(&mut fields),
        owner_links: fields.get("owner_links", read_owner_links).unwrap_or_default(),
        default_args: fields.object("default_args"),
        access_control: fields.object("access_control"),
        params: Arc::new(fields.get("params", read_params).unwrap_or_default()),
        deadlines: fields.get("deadline", read_deadlines).unwrap_or_default(),
        dependencies: fields.list("dag_dependencies", read_dependency).unwrap_or_default(),
        edge_info: fields.object("edge_info").filter(|edges| edges.text() != "{}"),
        dag_id: dag_id?.into(),
        timetable: timetable?,
        structure: structure?,
    })
}

/// The dates of the DAG, which are those of its tasks unless they have their own.
#[derive(Clone, Copy)]
struct Dates {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

fn read_structure<'v>(
    reader: &mut Reader<'v>,
    dag: &'v Value<'v>,
    defaults: &'v [(&'v str, Value<'v>)],
    dates: Dates,
) -> Option<Structure> {
    let mut strings = Strings::default();
    let ReadTasks { tasks, names, edges } = read_tasks(reader, dag, defaults, dates, &mut strings)?;
    let groups = read_groups(reader, dag, &names, &mut strings);
    let graph = read_graph(reader, &names, &edges);
    let (groups, group_of_task) = groups?;
    let mut tasks = tasks?;
    for (task, group) in tasks.iter_mut().zip(group_of_task) {
        task.group = group;
    }
    let mut by_id: Vec<TaskIndex> = (0..tasks.len()).map(TaskIndex::at).collect();
    by_id.sort_by(|one, other| tasks[one.position()].task_id.cmp(&tasks[other.position()].task_id));
    Some(Structure { tasks: tasks.into(), groups: groups.into(), graph: graph?, by_id: by_id.into() })
}

fn read_graph(
    reader: &mut Reader<'_>,
    names: &TaskNames<'_>,
    edges: &[(TaskIndex, TaskIndex)],
) -> Option<Graph> {
    match Graph::new(names.len(), edges) {
        Ok(graph) => Some(graph),
        Err(cycle) => {
            reader.within("tasks", |reader| {
                let shown = cycle.iter().take(MAX_NAMES_OF_A_CYCLE).map(|task| names.of(*task));
                let mut path: Vec<&str> = shown.collect();
                if cycle.len() > MAX_NAMES_OF_A_CYCLE {
                    path.push("…");
                }
                path.extend(cycle.first().map(|task| names.of(*task)));
                reader.problem(format_args!("{} is a cycle", path.join(" -> ")));
            });
            None
        }
    }
}

fn read_tags(fields: &mut Fields<'_, '_>) -> Vec<Box<str>> {
    let mut tags = fields.list("tags", Reader::text).unwrap_or_default();
    tags.sort_unstable();
    tags.dedup();
    tags.into_iter().map(Into::into).collect()
}

fn read_owner_links<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Vec<(Box<str>, Box<str>)>> {
    let entries = reader.object(value)?;
    let links = entries.iter().filter_map(|(owner, link)| {
        let link = reader.within(owner, |reader| reader.text(link))?;
        Some(((*owner).into(), link.into()))
    });
    Some(links.collect())
}

fn read_dependency<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<DagDependency> {
    reader.object(value)?;
    let source = reader.required(value, "source", Reader::text);
    let target = reader.required(value, "target", Reader::text);
    let label = reader.required(value, "label", Reader::text);
    let dependency_type = reader.required(value, "dependency_type", Reader::text);
    let dependency_id = reader.optional(value, "dependency_id", Reader::text);
    Some(DagDependency {
        source: source?.into(),
        target: target?.into(),
        label: label?.into(),
        dependency_type: dependency_type?.into(),
        dependency_id: dependency_id.map(Into::into),
    })
}

/// The fields of a DAG, none of which has to be there. One that is null is not there.
struct Fields<'r, 'v> {
    reader: &'r mut Reader<'v>,
    dag: &'v Value<'v>,
}

impl<'v> Fields<'_, 'v> {
    fn get<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Reader<'v>, &'v Value<'v>) -> Option<T>,
    ) -> Option<T> {
        self.reader.optional(self.dag, key, read)
    }

    fn text(&mut self, key: &'static str) -> Option<&'v str> {
        self.get(key, Reader::text)
    }

    fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.get(key, |reader, value| reader.boolean(value))
    }

    fn integer(&mut self, key: &'static str) -> Option<i32> {
        self.get(key, |reader, value| reader.integer(value))
    }

    fn instant(&mut self, key: &'static str) -> Option<Timestamp> {
        self.get(key, |reader, value| reader.instant(value))
    }

    fn object(&mut self, key: &'static str) -> Option<Json> {
        self.get(key, |reader, value| reader.object(value).map(|_| value.to_json()))
    }

    fn list<T>(
        &mut self,
        key: &'static str,
        read: impl FnMut(&mut Reader<'v>, &'v Value<'v>) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.get(key, |reader, value| reader.list(value, read))
    }
}
