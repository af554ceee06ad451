//! Messages of each kind: found, missing and wrong.

use jiff::ToSpan as _;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::seed::DAY_1;

pub(crate) fn all() -> Vec<Value> {
    [variables(), connections(), xcoms(), slices(), instances(), runs()].concat()
}

pub(crate) fn xcom_message(kind: &str, more: &Value) -> Value {
    merged(json!({"type": kind, "dag_id": "dag", "run_id": "run 1", "task_id": "one", "key": "key"}), more)
}

pub(crate) fn merged(mut message: Value, more: &Value) -> Value {
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

fn variables() -> Vec<Value> {
    let mut messages = vec![
        json!({"type": "PutVariable", "key": "put", "value": "x", "description": "d"}),
        json!({"type": "GetVariable", "key": "put"}),
        json!({"type": "PutVariable", "key": "put", "value": null, "description": null}),
        json!({"type": "GetVariable", "key": "put"}),
        json!({"type": "DeleteVariable", "key": "put"}),
        json!({"type": "DeleteVariable", "key": "put"}),
        json!({"type": "GetVariable", "key": "put"}),
        json!({"type": "DeleteVariable", "key": "of team"}),
        json!({"type": "MaskSecret", "value": "s3cret", "name": null}),
    ];
    for key in ["a_1", "a_2", "empty", "undecipherable", "of team", "missing", "a/b"] {
        messages.push(json!({"type": "GetVariable", "key": key}));
    }
    for (prefix, limit, offset) in [
        (Value::Null, 1000, 0),
        (json!("a_"), 2, 1),
        (json!("A_"), 5, 0),
        (json!("%"), 5, 0),
        (Value::Null, 0, 0),
        (Value::Null, 10_001, 0),
        (Value::Null, 1, -1),
    ] {
        messages.push(json!({"type": "GetVariableKeys", "prefix": prefix, "limit": limit, "offset": offset}));
    }
    messages
}

fn connections() -> Vec<Value> {
    let ids = ["full", "plain", "bad_extra", "undecipherable", "missing"];
    ids.map(|conn_id| json!({"type": "GetConnection", "conn_id": conn_id})).into()
}

fn xcoms() -> Vec<Value> {
    let mut messages = Vec::new();
    for (task, run, map_index, prior) in [
        ("one", "run 1", Value::Null, false),
        ("one", "run 2", Value::Null, false),
        ("one", "run 2", Value::Null, true),
        ("mapped", "run 1", json!(3), false),
        ("mapped", "run 1", json!(-1), false),
        ("mapped", "run 2", json!(2), true),
        ("one", "no run", Value::Null, true),
    ] {
        let more =
            json!({"task_id": task, "run_id": run, "map_index": map_index, "include_prior_dates": prior});
        messages.push(xcom_message("GetXCom", &more));
    }
    for task in ["one", "mapped", "missing"] {
        messages.push(xcom_message("GetXComCount", &json!({"task_id": task})));
        for offset in [0, 3, 5, -1, -5, -6] {
            messages.push(xcom_message("GetXComSequenceItem", &json!({"task_id": task, "offset": offset})));
        }
    }
    messages
}

fn slices() -> Vec<Value> {
    let bounds = [Value::Null, json!(0), json!(2), json!(9), json!(-1), json!(-4)];
    let mut messages = Vec::new();
    for start in &bounds {
        for stop in &bounds {
            for step in [Value::Null, json!(2), json!(-1), json!(-2), json!(0)] {
                let more = json!({"task_id": "mapped", "start": start, "stop": stop, "step": step});
                if !airflow_errs_at(start, stop, &step) {
                    messages.push(xcom_message("GetXComSequenceSlice", &more));
                }
            }
        }
    }
    messages
}

/// Airflow makes a page of the slice. It asks the database for a negative number of rows, and gets all, where the
/// slice is empty, and where it begins at the end and stops behind the last of the five values.
fn airflow_errs_at(start: &Value, stop: &Value, by: &Value) -> bool {
    let (Some(start), Some(stop)) = (start.as_i64(), stop.as_i64()) else { return false };
    let place = |bound: i64| if bound < 0 { bound + 5 } else { bound };
    let (first, end) = (place(start), place(stop));
    let is_empty = if by.as_i64().unwrap_or(1) >= 0 { end < first } else { first < end };
    is_empty || (start < 0 && stop > 5)
}

fn instances() -> Vec<Value> {
    let mut messages = Vec::new();
    for more in [
        json!({}),
        json!({"task_ids": ["one", "mapped"]}),
        json!({"task_ids": []}),
        json!({"map_index": 1}),
        json!({"map_index": -1}),
        json!({"run_ids": ["run 1"]}),
        json!({"logical_dates": [DAY_1.to_string()]}),
        json!({"logical_dates": [(DAY_1 + 1.second()).to_string()]}),
        json!({"dag_id": "missing"}),
        json!({"task_group_id": "group"}),
        json!({"task_group_id": "group", "run_ids": ["run 2"]}),
        json!({"task_group_id": "group", "task_ids": ["one"]}),
        json!({"task_group_id": "group", "map_index": 0}),
        json!({"task_group_id": "nowhere"}),
        json!({"task_group_id": "group", "dag_id": "missing"}),
        json!({"states": ["success"]}),
        json!({"states": ["null"]}),
        json!({"states": ["null", "failed"]}),
        json!({"states": ["odd"]}),
        json!({"states": []}),
    ] {
        for kind in ["GetTICount", "GetTaskStates"] {
            messages.push(merged(json!({"type": kind, "dag_id": "dag"}), &more));
        }
    }
    for more in [
        json!({}),
        json!({"state": "success"}),
        json!({"state": "skipped"}),
        json!({"logical_date": (DAY_1 + 1.second()).to_string()}),
        json!({"logical_date": DAY_1.to_string()}),
        json!({"task_id": "mapped", "map_index": 1}),
        json!({"task_id": "missing"}),
    ] {
        let message = json!({"type": "GetPreviousTI", "dag_id": "dag", "task_id": "one"});
        messages.push(merged(message, &more));
    }
    messages
}

fn runs() -> Vec<Value> {
    let late = (DAY_1 + 99.hours()).to_string();
    vec![
        json!({"type": "GetPreviousDagRun", "dag_id": "dag", "logical_date": DAY_1.to_string()}),
        json!({"type": "GetPreviousDagRun", "dag_id": "dag", "logical_date": late}),
        json!({"type": "GetPreviousDagRun", "dag_id": "dag", "logical_date": late, "state": "success"}),
        json!({"type": "GetPreviousDagRun", "dag_id": "dag", "logical_date": late, "state": "odd"}),
        json!({"type": "GetPrevSuccessfulDagRun", "ti_id": Uuid::from_u128(99).to_string()}),
    ]
}
