//! What a callback is told of the run that has missed a deadline: Airflow's `DAGRunResponse`, and the deadline.

use ferroflow_db::dag_run::DagRun;
use ferroflow_db::deadline::missed::MissedDeadline;
use ferroflow_execution::{BesideRun, run_response};
use ferroflow_model::{extended_json, sdk_json};
use serde_json::{Map, Value, json};

/// What a callback is told, in the server's encoding.
pub(super) fn context(run: &DagRun, dag: &BesideRun, deadline: &MissedDeadline) -> Value {
    let at = json!({"__var": sdk_json::seconds(deadline.deadline_time), "__type": "datetime"});
    let deadline = json!({"__var": {"id": deadline.id, "deadline_time": at}, "__type": "dict"});
    let dag_run = extended_json::encode(&run_response(run, dag));
    json!({"__var": {"dag_run": dag_run, "deadline": deadline}, "__type": "dict"})
}

/// Adds the context to the arguments of a callback, and more beside them; `None` if that is not what is stored of one.
pub(super) fn with_context(
    mut data: Value,
    context: Value,
    more: Vec<(&'static str, Value)>,
) -> Option<Value> {
    let entries = data.get_mut("__var")?.as_object_mut()?;
    entries.get("path")?.as_str()?;
    let kwargs = entries.entry("kwargs").or_insert(Value::Null);
    if kwargs.is_null() {
        *kwargs = extended_json::encode(&Value::Object(Map::new()));
    }
    kwargs.get_mut("__var")?.as_object_mut()?.insert("context".to_owned(), context);
    entries.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
    Some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_is_added_to_the_arguments() {
        let stored = extended_json::encode(&json!({"path": "a.b", "kwargs": {"x": 1}, "prefix": "p"}));
        let made = with_context(stored, json!("c"), vec![("dag_id", json!("d"))]).unwrap();
        let plain = json!({"path": "a.b", "kwargs": {"x": 1, "context": "c"}, "prefix": "p", "dag_id": "d"});
        assert_eq!(extended_json::decode(&made), plain);
        let without = extended_json::encode(&json!({"path": "a.b", "kwargs": null}));
        let made = with_context(without, json!("c"), vec![]).unwrap();
        assert_eq!(extended_json::decode(&made), json!({"path": "a.b", "kwargs": {"context": "c"}}));
    }

    #[test]
    fn what_is_no_callback_is_not_called() {
        for stored in [json!(null), json!({"path": "a.b"}), extended_json::encode(&json!({"kwargs": {}}))] {
            assert_eq!(with_context(stored, json!("c"), vec![]), None);
        }
    }
}
