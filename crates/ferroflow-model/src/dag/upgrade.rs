//! Documents of format 1, which is that of Airflow 2, as documents of today.
//!
//! Format 2 differs from 3 only in what is left out, so it is read as it is. What has an unexpected form stays as
//! it is: the decoder will complain about it, with the place.

use serde_json::{Map, Value, json};

const DAG_RENAMES: [(&str, &str); 3] =
    [("_dag_id", "dag_id"), ("_task_group", "task_group"), ("_access_control", "access_control")];

/// The links of Airflow 2 do not work any more.
const GONE_FROM_TASKS: [&str; 4] = ["_log_config_logger_name", "deps", "sla", "_operator_extra_links"];

const RESCHEDULE: &str = "airflow.ti_deps.deps.ready_to_reschedule.ReadyToRescheduleDep";

const DATASET_TIMETABLES: [&str; 2] = [
    "airflow.timetables.simple.DatasetTriggeredTimetable",
    "airflow.timetables.datasets.DatasetOrTimeSchedule",
];

/// Rewrites a document of format 1.
pub(super) fn to_current(mut document: Value) -> Value {
    if let Some(dag) = object_at(&mut document, "dag") {
        upgrade_dag(dag);
    }
    document
}

fn upgrade_dag(dag: &mut Map<String, Value>) {
    for (old, new) in DAG_RENAMES {
        if let Some(value) = dag.shift_remove(old) {
            dag.insert(new.to_owned(), value);
        }
    }
    if let Some(arguments) = dag.get_mut("default_args").and_then(|args| object_at(args, "__var")) {
        remove(arguments, &GONE_FROM_TASKS);
    }
    upgrade_timetable(dag);
    for dependency in items(dag, "dag_dependencies") {
        upgrade_dependency(dependency);
    }
    for task in items(dag, "tasks") {
        if let Some(task) = object_at(task, "__var") {
            upgrade_task(task);
        }
    }
    if let Some(Value::Object(root)) = dag.get_mut("task_group") {
        root.insert("group_display_name".to_owned(), json!(""));
    }
}

fn upgrade_timetable(dag: &mut Map<String, Value>) {
    match dag.get_mut("timetable") {
        Some(Value::Null) | None => {
            let schedule = dag.get("schedule_interval").cloned().unwrap_or_default();
            let zone = dag.get("timezone").cloned().unwrap_or_else(|| json!("UTC"));
            if let Some(timetable) = timetable_of(&schedule, &zone) {
                dag.insert("timetable".to_owned(), timetable);
            }
        }
        Some(timetable) => {
            let class = timetable["__type"].as_str().unwrap_or_default();
            if DATASET_TIMETABLES.contains(&class) {
                datasets_to_assets(timetable);
            }
        }
    }
}

/// What Airflow 3 makes of a schedule with its default configuration, in which runs have no data interval.
fn timetable_of(schedule: &Value, zone: &Value) -> Option<Value> {
    let (class, fields) = match schedule {
        Value::Null => ("simple.NullTimetable", json!({})),
        Value::String(preset) if preset == "@once" => ("simple.OnceTimetable", json!({})),
        Value::String(preset) if preset == "@continuous" => ("simple.ContinuousTimetable", json!({})),
        Value::String(expression) => (
            "trigger.CronTriggerTimetable",
            json!({"expression": expression, "timezone": zone, "interval": 0.0, "run_immediately": false}),
        ),
        encoded if encoded["__type"] == "timedelta" || encoded["__type"] == "relativedelta" => {
            ("trigger.DeltaTriggerTimetable", json!({"delta": encoded["__var"], "interval": 0.0}))
        }
        _ => return None,
    };
    Some(json!({"__type": format!("airflow.timetables.{class}"), "__var": fields}))
}

/// Everything in a timetable on datasets, but for addresses, is called after assets. A dataset had no name but
/// its address, and nothing had a group. (Airflow leaves both empty, and takes the name even from aliases.)
fn datasets_to_assets(value: &mut Value) {
    match value {
        Value::String(text) => *text = asset_words(text),
        Value::Array(items) => items.iter_mut().for_each(datasets_to_assets),
        Value::Object(entries) => {
            let renamed = std::mem::take(entries).into_iter().map(|(key, mut value)| {
                if key != "uri" {
                    datasets_to_assets(&mut value);
                }
                (asset_words(&key), value)
            });
            *entries = renamed.collect();
            let kind = entries.get("__type").cloned().unwrap_or_default();
            if kind == "asset"
                && let Some(uri) = entries.get("uri").cloned()
            {
                entries.insert("name".to_owned(), uri);
            }
            if kind == "asset" || kind == "asset_alias" {
                entries.insert("group".to_owned(), json!("asset"));
            }
        }
        _ => {}
    }
}

fn asset_words(text: &str) -> String {
    text.replace("Dataset", "Asset").replace("dataset", "asset")
}

fn upgrade_dependency(dependency: &mut Value) {
    let Value::Object(dependency) = dependency else { return };
    let kind = dependency.get("dependency_type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_dataset = matches!(kind.as_str(), "dataset" | "dataset-alias");
    if is_dataset {
        dependency.insert("dependency_type".to_owned(), asset_words(&kind).into());
    }
    let has_label = dependency.get("label").and_then(Value::as_str).is_some_and(|label| !label.is_empty());
    if !has_label && let Some(id) = dependency.get("dependency_id").cloned() {
        dependency.insert("label".to_owned(), id);
    }
    for end in ["target", "source"] {
        if let Some(Value::String(end)) = dependency.get_mut(end)
            && ((is_dataset && *end == kind)
                || end.starts_with("dataset:")
                || end.starts_with("dataset-alias:"))
        {
            *end = end.replacen("dataset", "asset", 1);
        }
    }
}

fn upgrade_task(task: &mut Map<String, Value>) {
    if items(task, "deps").any(|dependency| dependency == RESCHEDULE) {
        task.insert("_is_sensor".to_owned(), json!(true));
    }
    remove(task, &GONE_FROM_TASKS);
    for key in ["inlets", "outlets"] {
        items(task, key).for_each(upgrade_asset);
    }
}

fn upgrade_asset(item: &mut Value) {
    let Some(kind) = item["__type"].as_str().map(str::to_owned) else { return };
    item["__type"] = asset_words(&kind).into();
    let Some(content) = object_at(item, "__var") else { return };
    if kind == "dataset"
        && let Some(uri) = content.get("uri").cloned()
    {
        content.insert("name".to_owned(), uri);
    }
    content.insert("group".to_owned(), json!("asset"));
}

/// What a list under a key holds; nothing if there is none.
fn items<'o>(object: &'o mut Map<String, Value>, key: &str) -> impl Iterator<Item = &'o mut Value> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn object_at<'o>(value: &'o mut Value, key: &str) -> Option<&'o mut Map<String, Value>> {
    value.get_mut(key).and_then(Value::as_object_mut)
}

fn remove(object: &mut Map<String, Value>, keys: &[&str]) {
    object.retain(|key, _| !keys.contains(&key.as_str()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;

    fn upgraded(text: &str) -> String {
        Json::from(to_current(serde_json::from_str(text).unwrap())).into_text()
    }

    #[test]
    fn datasets_in_timetables_are_assets_and_keep_their_addresses() {
        let text = r#"{"__version": 1, "dag": {"timetable": {
            "__type": "airflow.timetables.datasets.DatasetOrTimeSchedule", "__var": {"dataset_condition": {
                "__type": "dataset_any", "objects": [
                    {"__type": "dataset", "uri": "s3://dataset", "extra": {"dataset": "dataset"}},
                    {"__type": "dataset_alias", "name": "alias"}]}}}}}"#;
        assert_eq!(
            upgraded(text),
            r#"{"__version": 1, "dag": {"timetable": {"__type": "airflow.timetables.assets.AssetOrTimeSchedule", "#
                .to_owned()
                + r#""__var": {"asset_condition": {"__type": "asset_any", "objects": [{"__type": "asset", "#
                + r#""uri": "s3://dataset", "extra": {"asset": "asset"}, "name": "s3://dataset", "group": "asset"}, "#
                + r#"{"__type": "asset_alias", "name": "alias", "group": "asset"}]}}}}}"#
        );
    }

    #[test]
    fn a_schedule_becomes_a_timetable_without_data_intervals() {
        let timetable = |schedule: &str| {
            let text = format!(
                r#"{{"__version": 1, "dag": {{"timezone": "UTC", "schedule_interval": {schedule}}}}}"#
            );
            let document = to_current(serde_json::from_str(&text).unwrap());
            Json::from(&document["dag"]["timetable"]).into_text().replace("airflow.timetables.", "")
        };
        assert_eq!(timetable("null"), r#"{"__type": "simple.NullTimetable", "__var": {}}"#);
        assert_eq!(timetable(r#""@continuous""#), r#"{"__type": "simple.ContinuousTimetable", "__var": {}}"#);
        assert_eq!(
            timetable(r#""@daily""#),
            r#"{"__type": "trigger.CronTriggerTimetable", "__var": {"expression": "@daily", "timezone": "UTC", "#
                .to_owned()
                + r#""interval": 0.0, "run_immediately": false}}"#
        );
        assert_eq!(
            timetable(r#"{"__type": "relativedelta", "__var": {"months": 1}}"#),
            r#"{"__type": "trigger.DeltaTriggerTimetable", "__var": {"delta": {"months": 1}, "interval": 0.0}}"#
        );
    }

    #[test]
    fn what_has_an_unexpected_form_stays() {
        for text in [
            r#"{"__version": 1}"#,
            r#"{"__version": 1, "dag": 5}"#,
            r#"{"__version": 1, "dag": {"timetable": 5, "tasks": {"a": 1}, "dag_dependencies": [7], "task_group": []}}"#,
            r#"{"__version": 1, "dag": {"timetable": 5, "tasks": [1, {"__var": 2}, {"__var": {"outlets": [3]}}]}}"#,
        ] {
            assert_eq!(upgraded(text), text);
        }
        let odd = r#"{"__version": 1, "dag": {"schedule_interval": {"odd": 1}}}"#;
        assert_eq!(upgraded(odd), odd);
    }
}
