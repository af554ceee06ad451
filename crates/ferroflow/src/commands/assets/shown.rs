//! Assets and aliases as the REST API shows them: its fields, in its order.

use ferroflow_db::asset::list::{ListedAsset, Reference, Watcher};
use ferroflow_execution::{Masker, api_time};
use ferroflow_model::stored_assets::StoredAlias;
use jiff::Timestamp;
use serde_json::{Value, json};

pub(super) type Fields = Vec<(&'static str, Value)>;

pub(super) const ASSET_FIELDS: [&str; 13] = [
    "id",
    "name",
    "uri",
    "group",
    "extra",
    "created_at",
    "updated_at",
    "scheduled_dags",
    "producing_tasks",
    "consuming_tasks",
    "aliases",
    "watchers",
    "last_asset_event",
];

pub(super) const ALIAS_FIELDS: [&str; 3] = ["id", "name", "group"];

/// An asset. What its author noted is shown without secrets.
pub(super) fn asset(asset: &ListedAsset, masker: &Masker) -> Fields {
    let mut extra = asset.extra.value().unwrap_or(Value::Null);
    masker.redact_json(&mut extra);
    let values = [
        json!(asset.id),
        json!(asset.name),
        json!(asset.uri),
        json!(asset.group),
        extra,
        time(asset.created_at),
        time(asset.updated_at),
        asset.scheduled_dags.iter().map(of_dag).collect(),
        asset.producing_tasks.iter().map(of_task).collect(),
        asset.consuming_tasks.iter().map(of_task).collect(),
        asset
            .aliases
            .iter()
            .map(|alias| json!({"id": alias.id, "name": alias.name, "group": alias.group}))
            .collect(),
        asset.watchers.iter().map(watcher).collect(),
        // Airflow's command does not look for it either.
        Value::Null,
    ];
    ASSET_FIELDS.into_iter().zip(values).collect()
}

/// An alias.
pub(super) fn alias(alias: &StoredAlias) -> Fields {
    let values = [json!(alias.id), json!(alias.name), json!(alias.group)];
    ALIAS_FIELDS.into_iter().zip(values).collect()
}

fn of_dag(reference: &Reference) -> Value {
    json!({
        "dag_id": reference.dag_id,
        "created_at": time(reference.created_at),
        "updated_at": time(reference.updated_at),
    })
}

fn of_task(reference: &Reference) -> Value {
    json!({
        "dag_id": reference.dag_id,
        "task_id": reference.task_id,
        "created_at": time(reference.created_at),
        "updated_at": time(reference.updated_at),
    })
}

fn watcher(watcher: &Watcher) -> Value {
    json!({
        "name": watcher.name,
        "trigger_id": watcher.trigger_id,
        "created_date": time(watcher.created_date),
    })
}

fn time(at: Timestamp) -> Value {
    Value::String(api_time(at))
}
