//! What Prometheus reads.

use ferroflow_telemetry::metrics::Prometheus;

use crate::calls::every_call;
use crate::statsd::settings;

fn shown(options: &'static [(&'static str, &'static str)]) -> String {
    let prometheus = Prometheus::new(&settings(options, 0)).unwrap();
    metrics::with_local_recorder(&prometheus, every_call);
    prometheus.shown().text()
}

#[test]
fn prometheus_reads_counters_gauges_and_timers_in_seconds() {
    let text = shown(&[]);
    for line in [
        "# TYPE airflow_scheduler_heartbeat counter",
        "airflow_scheduler_heartbeat 1",
        "# TYPE airflow_pool_open_slots gauge",
        "airflow_pool_open_slots{pool_name=\"my_pool\",team_name=\"red\"} -1",
        "airflow_ti_running{queue=\"a.queue\",dag_id=\"my.dag\",task_id=\"group.task\"} 3",
        "# TYPE airflow_dagrun_duration_success histogram",
        "airflow_dagrun_duration_success_sum{dag_id=\"my.dag\",run_type=\"scheduled\"} 60",
        "airflow_dagrun_duration_success_bucket{dag_id=\"my.dag\",run_type=\"scheduled\",le=\"30\"} 0",
        "airflow_dagrun_duration_success_bucket{dag_id=\"my.dag\",run_type=\"scheduled\",le=\"60\"} 1",
        "airflow_dagrun_dependency_check_count{dag_id=\"my.dag\",run_type=\"scheduled\"} 1",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
    }
}

/// A series for every run that there ever was would fill the memory, here and there.
#[test]
fn a_run_is_no_label() {
    let text = shown(&[]);
    assert!(text.contains("airflow_deadline_alerts_deadline_missed{dag_id=\"my.dag\"} 1"), "{text}");
    assert!(!text.contains("dagrun_id"), "{text}");
}

#[test]
fn prometheus_reads_what_the_lists_allow() {
    let text = shown(&[("metrics_allow_list", "^pool"), ("statsd_disabled_tags", "team")]);
    assert!(text.contains("airflow_pool_open_slots{pool_name=\"my_pool\"} -1"), "{text}");
    assert!(text.lines().all(|line| line.is_empty() || line.contains("airflow_pool_")), "{text}");
}
