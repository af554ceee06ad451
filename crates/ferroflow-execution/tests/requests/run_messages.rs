//! Runs that a task asks for: made, there already, cleared, refused.

use serde_json::{Value, json};

use crate::messages::merged;
use crate::seed_assets::asking;

/// What is to be found out, in an order: some follow on others.
pub(crate) fn all() -> Vec<Value> {
    [made(), refused(), there_already(), cleared(), afterwards(), minimal_question()].concat()
}

fn trigger(more: &Value) -> Value {
    merged(json!({"type": "TriggerDagRun", "dag_id": "target", "run_id": "new"}), more)
}

fn made() -> Vec<Value> {
    vec![
        trigger(&json!({})),
        trigger(&json!({"run_id": "dated", "logical_date": "2026-02-03T04:05:06.000007+00:00",
                        "run_after": "2026-02-04T05:06:07Z", "conf": {"p": 5, "b": [1.5, null], "a": "é"}, "note": "a note"})),
        trigger(
            &json!({"run_id": "later", "run_after": "2030-01-01T00:00:00Z", "conf": null, "partition_key": "ignored"}),
        ),
        trigger(&json!({"dag_id": "pinned", "run_id": "tied"})),
        trigger(
            &json!({"dag_id": "dag", "run_id": "own_dag", "conf": {"airflow/task_span_detail_level": 2}}),
        ),
        json!({"type": "GetDagRunState", "dag_id": "target", "run_id": "new"}),
    ]
}

fn refused() -> Vec<Value> {
    vec![
        trigger(&json!({"dag_id": "missing"})),
        trigger(&json!({"dag_id": "stale"})),
        trigger(&json!({"dag_id": "broken"})),
        trigger(&json!({"dag_id": "denied"})),
        trigger(&json!({"dag_id": "unparsed"})),
        trigger(&json!({"run_id": "with space"})),
        trigger(&json!({"run_id": "two..dots"})),
        trigger(&json!({"run_id": "x", "conf": {"p": "no number"}})),
        trigger(&json!({"run_id": "x", "conf": "no map"})),
        trigger(&json!({"run_id": "x", "logical_date": "2000-01-01T00:00:00Z"})),
        trigger(&json!({"run_id": "x", "logical_date": "2026-01-01T00:00:00"})),
        trigger(&json!({"run_id": "x", "reset_dag_run": null})),
        trigger(&json!({"run_id": "x", "unknown": 1})),
        trigger(&json!({"run_id": "x", "reset_dag_run": true, "dag_id": "missing"})),
    ]
}

fn there_already() -> Vec<Value> {
    vec![
        trigger(&json!({})),
        trigger(&json!({"run_id": "other", "logical_date": "2026-02-03T04:05:06.000007Z"})),
        trigger(
            &json!({"run_id": "other", "logical_date": "2026-02-03T04:05:06.000007Z", "reset_dag_run": true}),
        ),
    ]
}

fn cleared() -> Vec<Value> {
    let runs = [
        ("target", "done"),
        ("target", "active"),
        ("target", "empty"),
        ("target", "new"),
        ("pinned", "done"),
        ("newest", "done"),
        ("newest", "active"),
        // Again: its tries are in the history already.
        ("target", "done"),
    ];
    runs.map(|(dag, run)| trigger(&json!({"dag_id": dag, "run_id": run, "reset_dag_run": true}))).into()
}

/// What became of them, as every database can tell.
fn afterwards() -> Vec<Value> {
    let mut messages = Vec::new();
    for dag in ["target", "pinned", "newest"] {
        messages.push(json!({"type": "GetTaskStates", "dag_id": dag}));
        for state in ["queued", "running", "success", "failed"] {
            messages.push(json!({"type": "GetDRCount", "dag_id": dag, "states": [state]}));
        }
    }
    messages
}

/// One that leaves out what can be left out.
fn minimal_question() -> Vec<Value> {
    vec![json!({
        "type": "CreateHITLDetailPayload", "ti_id": asking().to_string(), "options": ["yes"], "subject": "s",
        "params": {}, "assigned_users": [],
    })]
}
