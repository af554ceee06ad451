//! `[metrics]` and `[traces]`.

use std::time::Duration;

use crate::rule::{Flag, List, Maybe, Milliseconds, Port, Text, at_least};

section! {
    /// Where metrics go and under which names. The `otel_*` options that Airflow 3.2 withdrew are `None` unless
    /// configured.
    Metrics = "metrics" {
        metrics_allow_list: Vec<String> = List,
        metrics_block_list: Vec<String> = List,
        legacy_names_on: bool = Flag,
        statsd_on: bool = Flag,
        statsd_host: String = Text,
        statsd_ipv6: bool = Flag,
        statsd_port: u16 = Port,
        statsd_prefix: String = Text,
        stat_name_handler: Option<String> = Maybe(Text),
        statsd_datadog_enabled: bool = Flag,
        statsd_datadog_tags: Vec<String> = List,
        statsd_datadog_metrics_tags: bool = Flag,
        statsd_custom_client_path: Option<String> = Maybe(Text),
        statsd_disabled_tags: Vec<String> = List,
        statsd_influxdb_enabled: bool = Flag,
        otel_on: bool = Flag,
        otel_prefix: String = Text,
        otel_host: Option<String> = Maybe(Text),
        otel_port: Option<u16> = Maybe(Port),
        otel_interval_milliseconds: Option<Duration> = Maybe(Milliseconds),
        otel_service: Option<String> = Maybe(Text),
        otel_ssl_active: Option<bool> = Maybe(Flag),
        otel_debugging_on: Option<bool> = Maybe(Flag),
    }
}

section! {
    /// Where traces go.
    Traces = "traces" {
        otel_on: bool = Flag,
        otel_host: Option<String> = Maybe(Text),
        otel_port: Option<u16> = Maybe(Port),
        otel_service: Option<String> = Maybe(Text),
        otel_ssl_active: Option<bool> = Maybe(Flag),
        otel_debugging_on: Option<bool> = Maybe(Flag),
        task_runner_flush_timeout_milliseconds: u64 = at_least(0),
    }
}
