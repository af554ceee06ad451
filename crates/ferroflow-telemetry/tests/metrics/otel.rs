//! What is exported, beside what Airflow's own logger for OpenTelemetry exports for the same calls.

use ferroflow_telemetry::metrics::MetricsSettings;
use ferroflow_telemetry::metrics::otel::Otel;
use ferroflow_testkit::Airflow;
use serde_json::{Value, json};

use crate::calls::{every_call, every_official_call};
use crate::receiver::{Collector, points, service};
use crate::statsd::settings;

/// Where both export to, and under which names.
fn exporting(port: u16) -> MetricsSettings {
    let mut settings = settings(&[("metrics_block_list", "deadline")], 0);
    settings.otel_on = true;
    "my.flow".clone_into(&mut settings.otel.prefix);
    settings.otel.service = Some("somebody".to_owned());
    settings.otel.host = Some("127.0.0.1".to_owned());
    settings.otel.port = Some(port);
    settings
}

fn ours(collector: &Collector) -> (String, Vec<String>, Option<String>) {
    let otel = Otel::new(&exporting(collector.port)).unwrap();
    metrics::with_local_recorder(&otel, every_call);
    otel.exporting().flush();
    let (first_line, request) = collector.next();
    (first_line, points(&request), service(&request))
}

fn official(collector: &Collector) -> (String, Vec<String>, Option<String>) {
    let options = json!({
        "otel_on": "True",
        "otel_prefix": "my.flow",
        "otel_service": "somebody",
        "otel_host": "127.0.0.1",
        "otel_port": collector.port.to_string(),
        "otel_interval_milliseconds": "600000",
        "metrics_block_list": "deadline",
    });
    let input: Value = json!([{"options": options, "calls": every_official_call()}]);
    let airflow = Airflow::on("sqlite:////nowhere.db");
    airflow.python("testdata/metrics/official_stats.py", &[], &input.to_string()).expect_success();
    let (first_line, request) = collector.next();
    (first_line, points(&request), service(&request))
}

#[test]
fn airflow_exports_the_same() {
    let collector = Collector::start();
    let (our_path, our_points, our_service) = ours(&collector);
    let (path, points, service) = official(&collector);
    assert_eq!((our_path, our_service), (path, service));
    assert!(points.len() > 80, "{points:#?}");
    assert_eq!(our_points, points);
}

#[test]
fn nobody_listening_harms_nobody() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let otel = Otel::new(&exporting(port)).unwrap();
    metrics::with_local_recorder(&otel, every_call);
    otel.exporting().flush();
}

#[test]
fn it_is_exported_at_intervals() {
    let collector = Collector::start();
    let mut settings = exporting(collector.port);
    settings.otel.interval = Some(std::time::Duration::from_millis(20));
    let otel = Otel::new(&settings).unwrap();
    metrics::with_local_recorder(&otel, every_call);
    // The first may have been sent while things were told.
    let mut last = points(&collector.next().1);
    loop {
        let next = points(&collector.next().1);
        if next == last {
            break;
        }
        last = next;
    }
    assert!(last.iter().any(|point| point.starts_with("my.flow.scheduler_heartbeat")), "{last:#?}");
}
