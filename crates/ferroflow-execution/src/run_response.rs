//! A run as the REST API shows it: Airflow's `DAGRunResponse`.

use ferroflow_db::dag_run::DagRun;
use ferroflow_db::deadline::missed::UsedVersion;
use jiff::Timestamp;
use serde_json::{Value, json};

/// What is told of a run beyond its own row.
pub struct BesideRun {
    /// What people see in place of the name of its DAG.
    pub display_name: Option<String>,
    /// What people noted on it.
    pub note: Option<String>,
    /// The versions of its DAG that its task instances were made from.
    pub versions: Vec<UsedVersion>,
}

/// A run with all fields of the answer, in their order.
pub fn run_response(run: &DagRun, beside: &BesideRun) -> Value {
    let display_name = beside.display_name.as_ref().unwrap_or(&run.dag_id);
    let duration =
        run.start_date.zip(run.end_date).map(|(start, end)| end.duration_since(start).as_secs_f64());
    let conf = run.conf.as_ref().and_then(|conf| conf.value().ok());
    let versions: Vec<Value> = beside.versions.iter().map(|version| used(version, display_name)).collect();
    json!({
        "dag_run_id": run.run_id,
        "dag_id": run.dag_id,
        "logical_date": run.logical_date.map(api_time),
        "queued_at": run.queued_at.map(api_time),
        "start_date": run.start_date.map(api_time),
        "end_date": run.end_date.map(api_time),
        "duration": duration,
        "data_interval_start": run.data_interval_start.map(api_time),
        "data_interval_end": run.data_interval_end.map(api_time),
        "run_after": api_time(run.run_after),
        "last_scheduling_decision": run.last_scheduling_decision.map(api_time),
        "run_type": run.run_type.as_str(),
        "state": run.state.as_str(),
        "triggered_by": run.triggered_by.map(|source| source.as_str().to_lowercase()),
        "triggering_user_name": run.triggering_user_name,
        "conf": conf,
        "note": beside.note,
        "dag_versions": versions,
        "bundle_version": run.bundle_version,
        "dag_display_name": display_name,
        "partition_key": run.partition_key,
        "partition_date": run.partition_date.map(api_time),
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
        "created_at": api_time(version.created_at),
        "dag_display_name": display_name,
        "bundle_url": null,
    })
}

/// A time as Airflow's API writes it: six digits of a second, or none.
pub fn api_time(time: Timestamp) -> String {
    let format = if time.subsec_microsecond() == 0 { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S.%6fZ" };
    time.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_six_digits_of_a_second_or_none() {
        assert_eq!(api_time(Timestamp::constant(0, 0)), "1970-01-01T00:00:00Z");
        assert_eq!(api_time(Timestamp::constant(0, 120_000_000)), "1970-01-01T00:00:00.120000Z");
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
