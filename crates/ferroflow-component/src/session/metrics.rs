//! `[metrics]`, as the recorders want it.

use std::time::Duration;

use ferroflow_telemetry::metrics::{self, Installed, MetricsSettings, OtelSettings};

use super::Session;
use crate::Error;

impl Session {
    /// Sends metrics from now on, if the configuration says so, and keeps them for Prometheus if they are shown.
    pub fn send_metrics(&self, is_shown: bool) -> Result<Installed, Error> {
        let from = &self.settings.metrics;
        let settings = MetricsSettings {
            statsd_on: from.statsd_on,
            host: from.statsd_host.clone(),
            port: from.statsd_port,
            ipv6: from.statsd_ipv6,
            prefix: from.statsd_prefix.clone(),
            allow_list: from.metrics_allow_list.clone(),
            block_list: from.metrics_block_list.clone(),
            legacy_names_on: from.legacy_names_on,
            influxdb_enabled: from.statsd_influxdb_enabled,
            disabled_tags: from.statsd_disabled_tags.clone(),
            datadog_enabled: from.statsd_datadog_enabled,
            datadog_tags: from.statsd_datadog_tags.clone(),
            datadog_metrics_tags: from.statsd_datadog_metrics_tags,
            stat_name_handler: from.stat_name_handler.clone(),
            custom_client: from.statsd_custom_client_path.clone(),
            otel_on: from.otel_on,
            otel: self.otel_settings()?,
        };
        Ok(metrics::install(settings, is_shown)?)
    }

    /// Standard environment variables go before `[metrics]`, as in Airflow.
    fn otel_settings(&self) -> Result<OtelSettings, Error> {
        let from = &self.settings.metrics;
        if !from.otel_on {
            return Ok(OtelSettings::default());
        }
        let set = |name: &str| self.environment.var(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let either = |name: &str, other: &str| set(name).or_else(|| set(other));
        let interval = match set("OTEL_METRIC_EXPORT_INTERVAL") {
            None => from.otel_interval_milliseconds,
            Some(text) => Some(milliseconds(&text).ok_or(Error::BadExportInterval(text))?),
        };
        Ok(OtelSettings {
            prefix: from.otel_prefix.clone(),
            host: from.otel_host.clone(),
            port: from.otel_port,
            is_secure: from.otel_ssl_active.unwrap_or(false),
            interval,
            service: set("OTEL_SERVICE_NAME").or_else(|| from.otel_service.clone()),
            base_endpoint: set("OTEL_EXPORTER_OTLP_ENDPOINT"),
            metrics_endpoint: set("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"),
            protocol: either("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"),
        })
    }
}

fn milliseconds(text: &str) -> Option<Duration> {
    let milliseconds: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(milliseconds / 1000.0).ok()
}
