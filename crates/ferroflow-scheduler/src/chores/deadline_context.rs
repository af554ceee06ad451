//! What a callback is told of the run that has missed a deadline: Airflow's `DAGRunResponse`, and the deadline.

use ferroflow_db::dag_run::DagRun;
use ferroflow_db::missed_deadline::{MissedDeadline, UsedVersion};
use ferroflow_model::{extended_json, sdk_json};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// What is told of a run beyond its own row.
pub(super) struct DagFacts {
    pub(super) display_name: Option<String>,
    pub(super) note: Option<String>,
    pub(super) versions: Vec<UsedVersion>,
}

/// What a callback is told, in the server's encoding.
pub(super) fn context(run: &DagRun, dag: &DagFacts, deadline: &MissedDeadline) -> Value {
    let at = json!({"__var": sdk_json::seconds(deadline.deadline_time), "__type": "datetime"});
    let deadline = json!({"__var": {"id": deadline.id, "deadline_time": at}, "__type": "dict"});
    let dag_run = extended_json::encode(&dag_run(run, dag));
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

fn dag_run(run: &DagRun, dag: &DagFacts) -> Value {
    let display_name = dag.display_name.as_ref().unwrap_or(&run.dag_id);
    let duration =
        run.start_date.zip(run.end_date).map(|(start, end)| end.duration_since(start).as_secs_f64());
    let conf = run.conf.as_ref().and_then(|conf| conf.value().ok());
    let versions: Vec<Value> = dag.versions.iter().map(|version| used(version, display_name)).collect();
    json!({
        "dag_run_id": run.run_id,
        "dag_id": run.dag_id,
        "logical_date": run.logical_date.map(text),
        "queued_at": run.queued_at.map(text),
        "start_date": run.start_date.map(text),
        "end_date": run.end_date.map(text),
        "duration": duration,
        "data_interval_start": run.data_interval_start.map(text),
        "data_interval_end": run.data_interval_end.map(text),
        "run_after": text(run.run_after),
        "last_scheduling_decision": run.last_scheduling_decision.map(text),
        "run_type": run.run_type.as_str(),
        "state": run.state.as_str(),
        "triggered_by": run.triggered_by.map(|door| door.as_str().to_lowercase()),
        "triggering_user_name": run.triggering_user_name,
        "conf": conf,
        "note": dag.note,
        "dag_versions": versions,
        "bundle_version": run.bundle_version,
        "dag_display_name": display_name,
        "partition_key": run.partition_key,
        "partition_date": run.partition_date.map(text),
    })
}

/// Where to look at a version of a bundle is signed, and told by Airflow's API alone.
fn used(version: &UsedVersion, display_name: &str) -> Value {
    json!({
        "id": version.id,
        "version_number": version.version_number,
        "dag_id": version.dag_id,
        "bundle_name": version.bundle_name,
        "bundle_version": version.bundle_version,
        "created_at": text(version.created_at),
        "dag_display_name": display_name,
        "bundle_url": null,
    })
}

/// A time as Airflow's API writes it: six digits of a second, or none.
fn text(time: Timestamp) -> String {
    let format = if time.subsec_microsecond() == 0 { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S.%6fZ" };
    time.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_six_digits_of_a_second_or_none() {
        assert_eq!(text(Timestamp::constant(0, 0)), "1970-01-01T00:00:00Z");
        assert_eq!(text(Timestamp::constant(0, 120_000_000)), "1970-01-01T00:00:00.120000Z");
    }

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

    #[test]
    fn the_address_of_a_bundle_is_not_told() {
        let version = UsedVersion {
            id: uuid::Uuid::nil(),
            version_number: 2,
            dag_id: "dag".to_owned(),
            bundle_name: Some("bundle".to_owned()),
            bundle_version: Some("abc".to_owned()),
            created_at: Timestamp::UNIX_EPOCH,
        };
        let told = used(&version, "The DAG");
        assert_eq!(told["bundle_url"], Value::Null);
        assert_eq!((&told["bundle_version"], &told["dag_display_name"]), (&json!("abc"), &json!("The DAG")));
    }
}
