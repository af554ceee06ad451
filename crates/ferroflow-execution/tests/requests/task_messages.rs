//! Messages that only tasks send: found, missing, not theirs and wrong.

use jiff::ToSpan as _;
use serde_json::{Value, json};

use crate::messages::{merged, xcom_message};
use crate::seed::{DAY_1, instance_id};
use crate::seed_assets::asking;

pub(crate) fn all() -> Vec<Value> {
    [xcoms(), runs(), assets(), asset_events(), task_store(), asset_store(), questions(), not_for_tasks()]
        .concat()
}

fn xcoms() -> Vec<Value> {
    let set = |more: Value| xcom_message("SetXCom", &merged(json!({"key": "new", "value": 1}), &more));
    let get = |more: Value| xcom_message("GetXCom", &merged(json!({"key": "new"}), &more));
    let value = json!({"z": [1, 1.0, -1.5e300, null, true, "é🎉\u{7f}\n"], "a": {"b": 18_446_744_073_709_551_615_u64}});
    vec![
        set(json!({"value": value})),
        get(json!({})),
        set(json!({"value": null, "dag_result": true})),
        get(json!({})),
        set(json!({"value": "deep", "key": "a/b"})),
        get(json!({"key": "a/b"})),
        set(json!({"value": 0, "map_index": -1, "mapped_length": 3})),
        set(json!({"value": 0, "map_index": -1, "mapped_length": 0})),
        set(json!({"value": [1], "task_id": "mapped", "map_index": 2, "mapped_length": 1024})),
        set(json!({"value": [1], "task_id": "mapped", "map_index": 2, "mapped_length": 1025})),
        set(json!({"value": [1], "mapped_length": -4})),
        get(json!({"task_id": "mapped", "map_index": 2})),
        xcom_message("GetXComCount", &json!({"task_id": "mapped", "key": "new"})),
        set(json!({"run_id": "no run"})),
        set(json!({"run_id": "no run", "mapped_length": 2})),
        set(json!({"dag_id": "no dag"})),
        set(json!({"task_id": "no task"})),
        set(json!({"map_index": "one"})),
        xcom_message("DeleteXCom", &json!({"key": "new"})),
        get(json!({})),
        xcom_message("DeleteXCom", &json!({"key": "new"})),
        xcom_message("DeleteXCom", &json!({"key": "key", "task_id": "mapped", "map_index": 1})),
        xcom_message("GetXComCount", &json!({"task_id": "mapped"})),
        xcom_message("DeleteXCom", &json!({"run_id": "no run"})),
    ]
}

fn runs() -> Vec<Value> {
    let mut messages = Vec::new();
    for (dag, run) in [("dag", "run 1"), ("dag", "run 2"), ("dag", "no run"), ("no dag", "run 1")] {
        for kind in ["GetDagRun", "GetDagRunState"] {
            messages.push(json!({"type": kind, "dag_id": dag, "run_id": run}));
        }
        messages.push(json!({"type": "GetDag", "dag_id": dag}));
    }
    for more in [
        json!({}),
        json!({"states": ["success"]}),
        json!({"states": ["odd"]}),
        json!({"states": []}),
        json!({"run_ids": ["run 1", "run 2"]}),
        json!({"run_ids": ["run 1"], "states": ["failed"]}),
        json!({"logical_dates": [DAY_1.to_string()]}),
        json!({"logical_dates": [(DAY_1 + 1.second()).to_string()]}),
        json!({"logical_dates": ["yesterday"]}),
        json!({"dag_id": "no dag"}),
    ] {
        messages.push(merged(json!({"type": "GetDRCount", "dag_id": "dag"}), &more));
    }
    messages.push(json!({"type": "GetPrevSuccessfulDagRun", "ti_id": instance_id(2, 0).to_string()}));
    messages
}

fn assets() -> Vec<Value> {
    let mut messages = Vec::new();
    for name in ["active", "sleeping", "missing", ""] {
        messages.push(json!({"type": "GetAssetByName", "name": name}));
        let uri = if name.is_empty() { String::new() } else { format!("file://{name}") };
        messages.push(json!({"type": "GetAssetByUri", "uri": uri}));
    }
    for alias in ["alias", "missing"] {
        messages.push(json!({"type": "GetAssetsByAlias", "alias_name": alias}));
    }
    messages
}

fn asset_events() -> Vec<Value> {
    let mut messages = Vec::new();
    for (name, uri) in [
        (json!("active"), Value::Null),
        (Value::Null, json!("file://active")),
        (json!("active"), json!("file://active")),
        (json!("active"), json!("file://other")),
        (json!("sleeping"), Value::Null),
        (json!("sleeping"), json!("file://sleeping")),
        (json!("missing"), Value::Null),
        (Value::Null, Value::Null),
        (json!(""), json!("")),
    ] {
        messages.push(json!({"type": "GetAssetEventByAsset", "name": name, "uri": uri}));
    }
    let (early, late) = ("2026-01-01T01:30:00+00:00", "2026-01-01T02:00:00Z");
    for more in [
        json!({"ascending": false}),
        json!({"limit": 1}),
        json!({"limit": 1, "ascending": false}),
        json!({"limit": 0}),
        json!({"after": early}),
        json!({"before": early}),
        json!({"after": late, "before": late}),
    ] {
        let of_asset = json!({"type": "GetAssetEventByAsset", "name": "active", "uri": null});
        messages.push(merged(of_asset, &more));
        messages.push(merged(json!({"type": "GetAssetEventByAssetAlias", "alias_name": "alias"}), &more));
    }
    for alias in ["alias", "missing", ""] {
        messages.push(json!({"type": "GetAssetEventByAssetAlias", "alias_name": alias}));
    }
    messages
}

fn task_store() -> Vec<Value> {
    let of = |kind: &str, more: Value| {
        merged(json!({"type": kind, "ti_id": asking().to_string(), "key": "k"}), &more)
    };
    let set = |more: Value| of("SetTaskStateStore", merged(json!({"value": 1, "expires_at": null}), &more));
    vec![
        of("GetTaskStateStore", json!({})),
        set(json!({"value": {"b": [1.0, null, "é"], "a": 1}})),
        of("GetTaskStateStore", json!({})),
        set(json!({"expires_at": "2020-01-02T03:04:05.000006Z"})),
        of("GetTaskStateStore", json!({})),
        set(json!({"value": "x", "expires_at": null, "key": "a/b ?#"})),
        of("GetTaskStateStore", json!({"key": "a/b ?#"})),
        set(json!({"value": null})),
        set(json!({"value": [null]})),
        of("DeleteTaskStateStore", json!({})),
        of("DeleteTaskStateStore", json!({})),
        of("GetTaskStateStore", json!({})),
        set(json!({"key": "left"})),
        of("GetTaskStateStore", json!({"ti_id": instance_id(2, 0).to_string()})),
        set(json!({"ti_id": instance_id(2, 0).to_string()})),
        of("DeleteTaskStateStore", json!({"ti_id": instance_id(2, 0).to_string()})),
        of("ClearTaskStateStore", json!({"ti_id": instance_id(2, 0).to_string()})),
        of("GetTaskStateStore", json!({"ti_id": "none"})),
        of("SetTaskStateStore", json!({"value": 1})),
        of("ClearTaskStateStore", json!({})),
        of("GetTaskStateStore", json!({"key": "left"})),
        set(json!({"key": "kept", "value": 2})),
    ]
}

fn asset_store() -> Vec<Value> {
    let mut messages = Vec::new();
    for (by, key, present, asleep) in
        [("Name", "name", "active", "sleeping"), ("Uri", "uri", "file://other", "file://sleeping")]
    {
        let of = |what: &str, asset: &str, more: Value| {
            let message = json!({"type": format!("{what}AssetStateStoreBy{by}"), key: asset});
            merged(message, &more)
        };
        messages.extend([
            of("Get", present, json!({"key": "k"})),
            of("Set", present, json!({"key": "k", "value": {"b": 1.0, "a": "é"}})),
            of("Get", present, json!({"key": "k"})),
            of("Set", present, json!({"key": "k", "value": [2]})),
            of("Get", present, json!({"key": "k"})),
            of("Set", present, json!({"key": "k", "value": null})),
            of("Set", present, json!({"key": "", "value": 1})),
            of("Delete", present, json!({"key": "k"})),
            of("Delete", present, json!({"key": "k"})),
            of("Get", present, json!({"key": "k"})),
            of("Set", present, json!({"key": "left", "value": 1})),
            of("Clear", present, json!({})),
            of("Get", present, json!({"key": "left"})),
            of("Set", present, json!({"key": "kept", "value": 1})),
            of("Get", asleep, json!({"key": "k"})),
            of("Set", asleep, json!({"key": "k", "value": 1})),
            of("Delete", asleep, json!({"key": "k"})),
            of("Clear", asleep, json!({})),
            of("Get", "", json!({"key": "k"})),
            of("Clear", "", json!({})),
        ]);
    }
    messages
}

fn questions() -> Vec<Value> {
    let ask = |more: Value| {
        let message = json!({
            "type": "CreateHITLDetailPayload", "ti_id": asking().to_string(), "options": ["yes", "no"], "subject": "s",
            "params": {}, "assigned_users": [],
        });
        merged(message, &more)
    };
    vec![
        ask(json!({"params": null})),
        ask(json!({"assigned_users": null})),
        ask(json!({"multiple": null})),
        ask(json!({"options": []})),
        ask(json!({"ti_id": instance_id(2, 0).to_string()})),
        ask(json!({
            "body": "b", "defaults": ["yes"], "multiple": true, "params": {"p": {"value": 1.0}},
            "assigned_users": [{"id": "1", "name": "me"}],
        })),
        ask(json!({})),
    ]
}

/// What is known, but nobody answers to tasks; and what nobody knows.
fn not_for_tasks() -> Vec<Value> {
    vec![
        json!({"type": "GetHITLDetailResponse", "ti_id": asking().to_string()}),
        json!({"type": "UpdateHITLDetail", "ti_id": asking().to_string(), "chosen_options": ["yes"], "params_input": {}}),
    ]
}
