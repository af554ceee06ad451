//! `[metrics]`, as far as it concerns us.

use std::time::Duration;

/// Where metrics go and under which names.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "Airflow has as many switches")]
pub struct MetricsSettings {
    /// `statsd_on`.
    pub statsd_on: bool,
    /// `statsd_host`.
    pub host: String,
    /// `statsd_port`.
    pub port: u16,
    /// `statsd_ipv6`: whether the host's IPv6 address is used.
    pub ipv6: bool,
    /// `statsd_prefix`: what every name begins with.
    pub prefix: String,
    /// `metrics_allow_list`: patterns; only a name in which one is found is sent.
    pub allow_list: Vec<String>,
    /// `metrics_block_list`: patterns; a name in which one is found is not sent. Without effect beside an allow
    /// list.
    pub block_list: Vec<String>,
    /// `legacy_names_on`: whether names that hold what is now a tag are sent, too.
    pub legacy_names_on: bool,
    /// `statsd_influxdb_enabled`: tags follow on the name.
    pub influxdb_enabled: bool,
    /// `statsd_disabled_tags`: patterns; a tag in whose name one is found is left out.
    pub disabled_tags: Vec<String>,
    /// `statsd_datadog_enabled`: Datadog's form, which has tags; it goes before plain statsd.
    pub datadog_enabled: bool,
    /// `statsd_datadog_tags`: tags of every metric.
    pub datadog_tags: Vec<String>,
    /// `statsd_datadog_metrics_tags`: whether the tags of a metric itself are sent.
    pub datadog_metrics_tags: bool,
    /// `stat_name_handler`, which is Python.
    pub stat_name_handler: Option<String>,
    /// `statsd_custom_client_path`, which is Python.
    pub custom_client: Option<String>,
    /// `otel_on`.
    pub otel_on: bool,
    /// Where OpenTelemetry's metrics go.
    pub otel: OtelSettings,
}

/// Where OpenTelemetry's metrics go: what the `otel_*` options and the standard environment variables say.
#[derive(Clone, Debug, Default)]
pub struct OtelSettings {
    /// `otel_prefix`: what every name begins with.
    pub prefix: String,
    /// `otel_host`.
    pub host: Option<String>,
    /// `otel_port`.
    pub port: Option<u16>,
    /// `otel_ssl_active`.
    pub is_secure: bool,
    /// `OTEL_METRIC_EXPORT_INTERVAL`, or `otel_interval_milliseconds`.
    pub interval: Option<Duration>,
    /// `OTEL_SERVICE_NAME`, or `otel_service`.
    pub service: Option<String>,
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`, to which the path of metrics is added.
    pub base_endpoint: Option<String>,
    /// `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`, which is used as it is.
    pub metrics_endpoint: Option<String>,
    /// `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL`, or `OTEL_EXPORTER_OTLP_PROTOCOL`.
    pub protocol: Option<String>,
}
