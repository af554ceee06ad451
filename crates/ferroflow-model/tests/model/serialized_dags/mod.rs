//! Documents as Airflow 3.3.2 wrote them, and documents as nobody should.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod bad_input;
mod samples;

use std::path::Path;

use ferroflow_model::dag::Dag;
use serde_json::{Value, json};

/// The text of a document of `testdata/serialized`.
fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/serialized");
    std::fs::read_to_string(folder.join(name).with_extension("json")).unwrap()
}

/// A document with these tasks, all in the outermost group.
fn document(tasks: &[Value]) -> Value {
    let ids = tasks.iter().filter_map(|task| task["task_id"].as_str());
    let children: serde_json::Map<String, Value> =
        ids.map(|id| (id.to_owned(), json!(["operator", id]))).collect();
    let tasks: Vec<Value> = tasks.iter().map(|task| json!({"__type": "operator", "__var": task})).collect();
    json!({
        "__version": 3,
        "dag": {
            "dag_id": "d",
            "timetable": {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}},
            "tasks": tasks,
            "task_group": {"_group_id": null, "children": children},
        },
    })
}

fn decode(document: &Value) -> Result<Dag, String> {
    Dag::decode(&document.to_string()).map_err(|problems| problems.to_string())
}
