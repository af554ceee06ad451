//! The recorder for statsd: every change of a metric is one datagram per name.

use std::net::{ToSocketAddrs as _, UdpSocket};
use std::sync::Arc;

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, SharedString, Unit,
};

use super::line::{Form, Line, lines};
use super::name::Rules;
use super::settings::MetricsSettings;

/// Why metrics cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// A pattern that is none, or of a kind that only Python knows.
    #[error("[metrics] {option}: {pattern:?} is not a regular expression that can be used here")]
    Pattern {
        /// The option.
        option: &'static str,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: Box<regex::Error>,
    },
    /// No socket for the host and port.
    #[error(
        "metrics cannot be sent to {host}:{port}; check [metrics] statsd_host, statsd_port and statsd_ipv6"
    )]
    Socket {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// Why not.
        source: std::io::Error,
    },
    /// Prometheus's recorder refuses its settings.
    #[error("metrics cannot be kept for Prometheus")]
    Prometheus {
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// OpenTelemetry is on, and no endpoint is configured.
    #[error(
        "[metrics] otel_on is set, and not where metrics go; set OTEL_EXPORTER_OTLP_ENDPOINT, or [metrics] otel_host and \
         otel_port"
    )]
    NoEndpoint,
    /// OpenTelemetry's protocol in a form that is not spoken here.
    #[error(
        "OTEL_EXPORTER_OTLP_PROTOCOL: {0} is not spoken here; use http/protobuf and the collector's port for it"
    )]
    Protocol(String),
    /// OpenTelemetry's exporter cannot be made.
    #[error("metrics cannot be exported to {endpoint}")]
    Otel {
        /// Where to.
        endpoint: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A recorder was installed before.
    #[error("metrics are sent already")]
    Installed,
}

/// Sends every change of a metric.
#[derive(Debug)]
pub struct Recorder {
    settings: MetricsSettings,
    form: Form,
    rules: Rules,
    socket: Arc<UdpSocket>,
}

impl Recorder {
    /// One that sends to the host and port of the settings, whose address is looked up once.
    pub fn new(settings: MetricsSettings) -> Result<Self, MetricsError> {
        let socket = socket(&settings).map_err(|source| MetricsError::Socket {
            host: settings.host.clone(),
            port: settings.port,
            source,
        })?;
        let (form, rules) = (Form::new(&settings), Rules::new(&settings)?);
        Ok(Self { settings, form, rules, socket: Arc::new(socket) })
    }

    fn metric(&self, key: &Key) -> Option<Arc<Metric>> {
        let lines = lines(key, &self.settings, &self.form, &self.rules);
        let is_datadog = matches!(self.form, Form::Datadog { .. });
        (!lines.is_empty()).then(|| Arc::new(Metric { lines, is_datadog, socket: Arc::clone(&self.socket) }))
    }
}

fn socket(settings: &MetricsSettings) -> std::io::Result<UdpSocket> {
    let mut addresses = (settings.host.as_str(), settings.port).to_socket_addrs()?;
    // Datadog's client takes what it finds first; statsd's wants to be told.
    let address = addresses
        .find(|address| settings.datadog_enabled || address.is_ipv6() == settings.ipv6)
        .ok_or_else(|| std::io::Error::other("the host has no address of that kind"))?;
    let socket = UdpSocket::bind(if address.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" })?;
    socket.connect(address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl metrics::Recorder for Recorder {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.metric(key).map_or_else(Counter::noop, Counter::from_arc)
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.metric(key).map_or_else(Gauge::noop, Gauge::from_arc)
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.metric(key).map_or_else(Histogram::noop, Histogram::from_arc)
    }
}

/// One metric, ready to be sent.
#[derive(Debug)]
struct Metric {
    lines: Vec<Line>,
    is_datadog: bool,
    socket: Arc<UdpSocket>,
}

impl Metric {
    fn send(&self, value: impl std::fmt::Display, kind: &str) {
        for line in &self.lines {
            self.datagram(&format!("{}:{value}|{kind}{}", line.name, line.end));
        }
    }

    /// A full buffer, or no listener: the datagram is lost.
    fn datagram(&self, text: &str) {
        drop(self.socket.send(text.as_bytes()));
    }
}

impl CounterFn for Metric {
    fn increment(&self, value: u64) {
        self.send(value, "c");
    }

    /// Counters of statsd only count up from where they are.
    fn absolute(&self, _value: u64) {}
}

/// Airflow counts some things up and down by counters; the facade has gauges for that.
impl GaugeFn for Metric {
    fn increment(&self, value: f64) {
        self.send(value, "c");
    }

    fn decrement(&self, value: f64) {
        self.send(-value, "c");
    }

    fn set(&self, value: f64) {
        if value >= 0.0 || self.is_datadog {
            return self.send(value, "g");
        }
        // A sign would make it a change of the gauge: it is set to nought first.
        for Line { name, end } in &self.lines {
            self.datagram(&format!("{name}:0|g{end}\n{name}:{value}|g{end}"));
        }
    }
}

impl HistogramFn for Metric {
    fn record(&self, value: f64) {
        // As Python writes numbers that have a fraction.
        if self.is_datadog {
            self.send(format_args!("{value:?}"), "ms");
        } else {
            self.send(format_args!("{value:.6}"), "ms");
        }
    }
}
