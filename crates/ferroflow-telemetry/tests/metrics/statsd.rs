//! What is sent in statsd's form, beside what Airflow's own stats module sends for the same calls.

use std::net::UdpSocket;

use ferroflow_telemetry::metrics::dag_processing::{self, File};
use ferroflow_telemetry::metrics::{MetricsSettings, Recorder, executing, normalized, runs, scheduling};
use ferroflow_testkit::Airflow;
use serde_json::{Value, json};

use crate::calls::{every_call, every_official_call};

/// Options of `[metrics]` besides host and port.
type Options = [(&'static str, &'static str)];

const PLAIN: &Options = &[("statsd_on", "True")];

const SCENARIOS: [&Options; 9] = [
    PLAIN,
    &[("statsd_on", "True"), ("statsd_prefix", "")],
    &[("statsd_on", "True"), ("legacy_names_on", "False")],
    &[("statsd_on", "True"), ("statsd_influxdb_enabled", "True"), ("statsd_disabled_tags", "bundle")],
    &[("statsd_on", "True"), ("metrics_allow_list", "LAST_,^dagbag,timeouts$")],
    &[("statsd_on", "True"), ("metrics_block_list", "last_,file_path")],
    &[("statsd_on", "True"), ("metrics_allow_list", "last"), ("metrics_block_list", "last")],
    &[
        ("statsd_datadog_enabled", "True"),
        ("statsd_datadog_tags", "a:b,c d"),
        ("statsd_disabled_tags", "action"),
    ],
    &[("statsd_datadog_enabled", "True"), ("statsd_datadog_metrics_tags", "False")],
];

/// What Airflow sends and does not list, or lists under a name that is made of something.
const UNLISTED: [&str; 7] = [
    "job_start",
    "job_end",
    "job_heartbeat_failure",
    "dagrun.first_task_start_delay",
    "executor.open_slots.LocalExecutor",
    "executor.queued_tasks.LocalExecutor",
    "executor.running_tasks.LocalExecutor",
];

/// One test, since starting Airflow takes long.
#[test]
fn airflow_sends_the_same_and_has_the_same_names() {
    let long = "x".repeat(250);
    let too_long = || dag_processing::processor_timeout(File { bundle_name: "b", path: &long });
    let too_long_call = vec![json!(["incr", "dag_processing.processor_timeouts", 1, {"file_path": long}])];
    let influxdb: &Options = &[("statsd_on", "True"), ("statsd_influxdb_enabled", "True")];

    let mut asked: Vec<(&Options, Vec<Value>)> =
        SCENARIOS.iter().map(|options| (*options, every_official_call())).collect();
    asked.push((influxdb, too_long_call));
    let answers = official(&asked);

    for (options, (official, _)) in SCENARIOS.iter().zip(&answers) {
        assert!(!official.is_empty(), "{options:?}");
        assert_eq!(sorted(sent_by_us(options, &every_call)), sorted(official.clone()), "{options:?}");
    }
    let nothing = Vec::<String>::new();
    assert_eq!((sent_by_us(influxdb, &too_long), &answers[SCENARIOS.len()].0), (nothing.clone(), &nothing));
    let known = answers[0].1.as_object().unwrap();
    let names = [&dag_processing::NAMES[..], &scheduling::NAMES[..], &runs::NAMES[..], &executing::NAMES[..]]
        .concat();
    for (name, kind) in &names {
        assert_eq!(known[*name]["type"], *kind, "{name}");
    }
    let unlisted: Vec<&String> =
        known.keys().filter(|name| !names.iter().any(|(listed, _)| listed == name)).collect();
    assert_eq!(unlisted, UNLISTED, "every other name is in Airflow's list, and called");
}

#[test]
fn parts_of_names_are_normalized() {
    assert_eq!(normalized("a b/ü.py-_"), "a_b__.py-_");
}

#[test]
fn a_bad_pattern_names_its_option() {
    let settings = MetricsSettings { allow_list: vec!["(?<!a)b".to_owned()], ..settings(PLAIN, 1) };
    let error = Recorder::new(settings).unwrap_err();
    assert!(error.to_string().starts_with("[metrics] metrics_allow_list: \"(?<!a)b\""), "{error}");
}

#[test]
fn nobody_listening_costs_nothing() {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let recorder = Recorder::new(settings(PLAIN, port)).unwrap();
    metrics::with_local_recorder(&recorder, || (0..1000).for_each(|_| dag_processing::heartbeat()));
}

/// The datagrams that a real socket gets.
fn sent_by_us(options: &Options, calls: &dyn Fn()) -> Vec<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // Datagrams on one machine are there when they are sent.
    socket.set_nonblocking(true).unwrap();
    let recorder = Recorder::new(settings(options, socket.local_addr().unwrap().port())).unwrap();
    metrics::with_local_recorder(&recorder, calls);
    let mut datagrams = Vec::new();
    let mut buffer = [0; 2048];
    while let Ok(length) = socket.recv(&mut buffer) {
        datagrams.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
    }
    datagrams
}

pub(crate) fn settings(options: &Options, port: u16) -> MetricsSettings {
    let text = |name: &str, default: &str| {
        options.iter().find(|(option, _)| *option == name).map_or(default, |(_, value)| value).to_owned()
    };
    let list = |name: &str| {
        let text = text(name, "");
        text.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let flag = |name: &str, default: &str| text(name, default) == "True";
    MetricsSettings {
        statsd_on: flag("statsd_on", "False"),
        host: "127.0.0.1".to_owned(),
        port,
        prefix: text("statsd_prefix", "airflow"),
        allow_list: list("metrics_allow_list"),
        block_list: list("metrics_block_list"),
        legacy_names_on: flag("legacy_names_on", "True"),
        influxdb_enabled: flag("statsd_influxdb_enabled", "False"),
        disabled_tags: list("statsd_disabled_tags"),
        datadog_enabled: flag("statsd_datadog_enabled", "False"),
        datadog_tags: list("statsd_datadog_tags"),
        datadog_metrics_tags: flag("statsd_datadog_metrics_tags", "True"),
        ..MetricsSettings::default()
    }
}

/// What Airflow sends in each scenario, and what its registry says.
fn official(asked: &[(&Options, Vec<Value>)]) -> Vec<(Vec<String>, Value)> {
    let scenarios: Vec<Value> = asked
        .iter()
        .map(|(options, calls)| {
            let options: serde_json::Map<String, Value> =
                options.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            json!({"options": options, "calls": calls})
        })
        .collect();
    let input = serde_json::to_string(&scenarios).unwrap();
    let airflow = Airflow::on("sqlite:////nowhere.db");
    let answer = airflow.python("testdata/metrics/official_stats.py", &[], &input).expect_success();
    let answers: Vec<Value> = serde_json::from_str(answer.lines().last().unwrap()).unwrap();
    answers
        .into_iter()
        .map(|answer| {
            let sent = answer["sent"].as_array().unwrap().iter();
            (sent.map(|line| line.as_str().unwrap().to_owned()).collect(), answer["known"].clone())
        })
        .collect()
}

fn sorted(mut datagrams: Vec<String>) -> Vec<String> {
    datagrams.sort();
    datagrams
}
