//! The first message to a task's process: what to run.

use ferroflow_execution::api::RunContext;
use ferroflow_execution::wire::{SdkVersion, native_times};
use ferroflow_python::message::from_json;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use rmpv::Value;
use serde::Serialize;

use crate::{Bundle, ExecuteTask, WorkloadInstance};

/// The fields of a run that are times.
const TIMES_OF_A_RUN: [&str; 7] = [
    "logical_date",
    "data_interval_start",
    "data_interval_end",
    "run_after",
    "start_date",
    "end_date",
    "partition_date",
];

/// Airflow's `StartupDetails`.
#[derive(Serialize)]
struct StartupDetails<'a> {
    ti: &'a WorkloadInstance,
    dag_rel_path: &'a str,
    bundle_info: &'a Bundle,
    start_date: String,
    ti_context: &'a RunContext,
    sentry_integration: &'a str,
    r#type: &'static str,
}

/// What the process of a workload is told, once its task instance runs.
pub(super) fn details(workload: &ExecuteTask, context: &RunContext, sdk: SdkVersion) -> Value {
    // One that goes on after a wait has started long ago.
    let start_date: Timestamp = context.start_date.unwrap_or_else(clock::now);
    let details = StartupDetails {
        ti: &workload.ti,
        dag_rel_path: &workload.dag_rel_path,
        bundle_info: &workload.bundle_info,
        start_date: start_date.to_string(),
        ti_context: context,
        sentry_integration: &workload.sentry_integration,
        r#type: "StartupDetails",
    };
    // By way of JSON: msgpack's own serializer would write structures as lists.
    let mut message = serde_json::to_value(&details).map_or(Value::Nil, from_json);
    native_times(&mut message, &["start_date"]);
    let Some(context) = at_mut(&mut message, "ti_context") else { return message };
    native_times(context, &["start_date"]);
    if let Some(run) = at_mut(context, "dag_run") {
        native_times(run, &TIMES_OF_A_RUN);
        if let Some(Value::Array(events)) = at_mut(run, "consumed_asset_events") {
            for event in events {
                native_times(event, &["timestamp"]);
            }
        }
        sdk.narrow_run(run);
    }
    message
}

fn at_mut<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Value> {
    let Value::Map(entries) = value else { return None };
    entries.iter_mut().find(|(found, _)| found.as_str() == Some(key)).map(|(_, value)| value)
}
