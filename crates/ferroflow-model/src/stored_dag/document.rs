//! A document as Python wrote it, and the one that is stored.

use uuid::Uuid;

use super::deadlines::{DeadlineDefinition, read_deadlines};
use super::hash::{Split, hashed_text, hashed_text_around_deadlines, md5_hex, text_around_deadlines};
use super::lexical::{Node, write_list, write_text};
use super::schedule::needs_python;
use crate::Json;
use crate::dag::Dag;

/// A DAG that came out of a file, with what its rows are made of.
#[derive(Clone, Debug)]
pub struct ParsedDag {
    /// What the document means.
    pub dag: Dag,
    /// The owners that its tasks name, sorted. Airflow counts neither those of mapped tasks nor the default.
    pub owners: Vec<String>,
    /// What people see in place of its name.
    pub display_name: Option<String>,
    /// How many of its task instances may run at once, if the document says so.
    pub max_active_tasks: Option<i32>,
    /// How many of its runs may be active, if the document says so.
    pub max_active_runs: Option<i32>,
    /// After how many failed runs in a row it is paused, if the document says so.
    pub max_consecutive_failed_dag_runs: Option<i32>,
    /// Whether any task limits how many of its own instances may be active.
    pub has_task_concurrency_limits: bool,
    /// The deadlines as the document has them, a list; `None` if there is none to write.
    pub deadline_column: Option<Json>,
    /// The same, each as its row has it.
    pub deadlines: Vec<DeadlineDefinition>,
    /// The timetable as the document has it, if Python is needed to evaluate it.
    pub custom_timetable: Option<Json>,
    form: Form,
}

/// A document that cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The DAG, if the document tells at least that.
    pub dag_id: Option<String>,
    /// What is wrong, a line for each problem.
    pub problems: String,
}

/// What `serialized_dag` keeps of a DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredForm {
    /// Airflow's hash.
    pub hash: String,
    /// The document, with ids in the place of deadlines.
    pub data: Json,
}

/// The document, as far as it is known before the deadlines have ids.
#[derive(Clone, Debug)]
enum Form {
    Complete(StoredForm),
    WithoutDeadlines { hashed: Split, data: Split },
}

impl ParsedDag {
    /// Reads a document that Python wrote.
    pub fn read(document: &Json) -> Result<Self, Refusal> {
        let Some(root) = Node::read(document) else {
            // The decoder meets the same, and says where.
            let problems = Dag::decode(document.text()).err().map(|problems| problems.to_string());
            let problems = problems.unwrap_or_else(|| "the document cannot be read".to_owned());
            return Err(Refusal { dag_id: None, problems });
        };
        let dag = Dag::decode(document.text()).map_err(|problems| Refusal {
            dag_id: root.get("dag").and_then(|dag| dag.get("dag_id")?.as_text()).map(str::to_owned),
            problems: problems.to_string(),
        })?;
        let no_dag = Node::Object(Vec::new());
        let fields = root.get("dag").unwrap_or(&no_dag);
        let limit = |key| fields.given(key).and_then(as_integer);
        let (deadline_column, deadlines) = read_deadlines(fields);
        Ok(Self {
            owners: owners(fields),
            display_name: text(fields, "dag_display_name").filter(|name| **name != *dag.dag_id),
            max_active_tasks: limit("max_active_tasks"),
            max_active_runs: limit("max_active_runs"),
            max_consecutive_failed_dag_runs: limit("max_consecutive_failed_dag_runs"),
            has_task_concurrency_limits: tasks(fields).any(has_concurrency_limit),
            custom_timetable: fields
                .get("timetable")
                .filter(|_| needs_python(&dag.timetable))
                .map(Node::to_json),
            form: Form::of(&root, deadlines.is_empty(), document),
            deadline_column,
            deadlines,
            dag,
        })
    }

    /// What is stored if the deadlines have these ids; none if there are no deadlines.
    pub fn stored_form(&self, deadline_ids: &[Uuid]) -> StoredForm {
        match &self.form {
            Form::Complete(form) => form.clone(),
            Form::WithoutDeadlines { hashed, data } => {
                let mut ids: Vec<String> = deadline_ids.iter().map(Uuid::to_string).collect();
                let data = data.filled(&list_of_texts(&ids));
                ids.sort_unstable();
                StoredForm {
                    hash: md5_hex(&hashed.filled(&list_of_texts(&ids))),
                    // Ids in the place of deadlines leave it JSON.
                    data: Json::from_text(data).unwrap_or_else(|_| Json::null()),
                }
            }
        }
    }
}

impl Form {
    fn of(root: &Node<'_>, is_complete: bool, document: &Json) -> Self {
        if is_complete {
            let hash = md5_hex(&hashed_text(root));
            return Self::Complete(StoredForm { hash, data: document.clone() });
        }
        Self::WithoutDeadlines {
            hashed: hashed_text_around_deadlines(root),
            data: text_around_deadlines(root),
        }
    }
}

fn list_of_texts(texts: &[String]) -> String {
    let mut out = String::new();
    write_list(&mut out, texts, |out, text| write_text(out, text));
    out
}

fn text(fields: &Node<'_>, key: &str) -> Option<String> {
    fields.get(key)?.as_text().map(str::to_owned)
}

/// Python's integers have no end; one that does not fit the column has been refused by the decoder.
fn as_integer(node: &Node<'_>) -> Option<i32> {
    match node {
        Node::Word(word) => word.parse().ok(),
        _ => None,
    }
}

/// What stands inside each task's envelope.
fn tasks<'n, 't>(fields: &'n Node<'t>) -> impl Iterator<Item = &'n Node<'t>> {
    fields.get("tasks").map(Node::items).unwrap_or_default().iter().filter_map(|task| task.get("__var"))
}

fn owners(fields: &Node<'_>) -> Vec<String> {
    let mut owners: Vec<String> =
        tasks(fields).filter_map(|task| text(task, "owner")).filter(|owner| !owner.is_empty()).collect();
    owners.sort_unstable();
    owners.dedup();
    owners
}

fn has_concurrency_limit(task: &Node<'_>) -> bool {
    let has = |fields: &Node<'_>| {
        fields.given("max_active_tis_per_dag").is_some()
            || fields.given("max_active_tis_per_dagrun").is_some()
    };
    has(task) || task.get("partial_kwargs").is_some_and(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(fields: &str, tasks: &str) -> Json {
        let text = format!(
            r#"{{"__version": 3, "dag": {{"dag_id": "d", "fileloc": "/d.py", "timezone": "UTC",
            "timetable": {{"__type": "airflow.timetables.simple.NullTimetable", "__var": {{}}}},
            "task_group": {{"_group_id": null, "children": {{"a": ["operator", "a"], "b": ["operator", "b"]}},
              "prefix_group_id": true, "tooltip": "", "ui_color": "", "ui_fgcolor": "",
              "upstream_group_ids": [], "downstream_group_ids": [], "upstream_task_ids": [],
              "downstream_task_ids": []}},
            "tasks": [{tasks}] {fields}}}}}"#
        );
        Json::from_text(text).unwrap()
    }

    fn task(id: &str, more: &str) -> String {
        format!(
            r#"{{"__type": "operator", "__var": {{"task_id": "{id}", "task_type": "EmptyOperator",
            "_task_module": "m"{more}}}}}"#
        )
    }

    fn parsed(fields: &str, one: &str, other: &str) -> ParsedDag {
        let tasks = format!("{}, {}", task("a", one), task("b", other));
        ParsedDag::read(&document(fields, &tasks)).unwrap()
    }

    #[test]
    fn owners_are_sorted_and_those_of_mapped_tasks_are_not_counted() {
        let mapped = r#", "_is_mapped": true, "_expand_input_attr": "expand_input",
            "expand_input": {"type": "dict-of-lists", "value": {"__type": "dict", "__var": {}}},
            "_disallow_kwargs_override": false,
            "partial_kwargs": {"owner": "hidden", "max_active_tis_per_dag": 1}"#;
        let dag = parsed("", r#", "owner": "zoe""#, r#", "owner": "ann""#);
        assert_eq!(dag.owners, ["ann", "zoe"]);
        assert!(!dag.has_task_concurrency_limits);
        let dag = parsed("", r#", "owner": "zoe""#, mapped);
        assert_eq!(dag.owners, ["zoe"]);
        assert!(dag.has_task_concurrency_limits);
        assert!(parsed("", r#", "max_active_tis_per_dagrun": 0"#, "").has_task_concurrency_limits);
        assert!(!parsed("", r#", "max_active_tis_per_dagrun": null"#, "").has_task_concurrency_limits);
    }

    #[test]
    fn limits_and_names_that_are_not_given_are_left_to_the_configuration() {
        let dag = parsed("", "", "");
        assert_eq!((dag.max_active_tasks, dag.max_active_runs), (None, None));
        assert_eq!((dag.display_name, dag.deadline_column), (None, None));
        let dag = parsed(
            r#", "max_active_runs": 3, "dag_display_name": "D", "deadline": null,
            "max_consecutive_failed_dag_runs": null"#,
            "",
            "",
        );
        assert_eq!((dag.max_active_runs, dag.max_consecutive_failed_dag_runs), (Some(3), None));
        assert_eq!((dag.display_name.as_deref(), dag.deadline_column), (Some("D"), None));
    }

    #[test]
    fn ids_stand_where_the_deadlines_were_and_their_order_does_not_change_the_hash() {
        let deadline = r#"{"name": null, "reference": {"reference_type": "DagRunQueuedAtDeadline"},
            "interval": 300.0, "callback": {"path": "x"}}"#;
        let dag = parsed(&format!(r#", "deadline": [{deadline}, {deadline}]"#), "", "");
        let ids = [Uuid::from_u128(2), Uuid::from_u128(1)];
        let one = dag.stored_form(&ids);
        assert!(one.data.text().contains(&format!(r#""deadline": ["{}", "{}"]"#, ids[0], ids[1])));
        let other = dag.stored_form(&[ids[1], ids[0]]);
        assert_eq!(one.hash, other.hash);
        assert_ne!(one.data, other.data);
        assert_ne!(one.hash, dag.stored_form(&[ids[0], Uuid::from_u128(3)]).hash);
    }

    #[test]
    fn a_refused_document_names_its_dag_and_what_is_wrong() {
        let refusal = ParsedDag::read(&document(
            r#", "catchup": "perhaps""#,
            &format!("{}, {}", task("a", ""), task("b", "")),
        ))
        .unwrap_err();
        assert_eq!(refusal.dag_id.as_deref(), Some("d"));
        assert!(refusal.problems.contains("catchup"), "{}", refusal.problems);
        let broken = Json::from_text(r#"{"__version": 3, "dag": {"dag_id": "\ud800"}}"#.to_owned()).unwrap();
        let refusal = ParsedDag::read(&broken).unwrap_err();
        assert_eq!(refusal.dag_id, None);
        assert!(refusal.problems.contains("dag.dag_id"), "{}", refusal.problems);
    }
}
