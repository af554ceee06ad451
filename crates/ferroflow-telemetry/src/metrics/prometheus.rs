//! What Prometheus reads: the same metrics, with tags as labels.
//!
//! Names are those that a statsd exporter makes of what is sent: dots become underscores, and timers are in seconds. What
//! has no end of values is no label: a run, a job.

use std::sync::Arc;
use std::time::Duration;

use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Label, Metadata, Recorder, SharedString, Unit,
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use metrics_util::MetricKindMask;

use super::name::Rules;
use super::recorder::MetricsError;
use super::settings::MetricsSettings;

/// The limits of the buckets of timers, in seconds: from what a step takes to how long a run goes on.
const BUCKETS: [f64; 20] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0,
    3600.0, 14_400.0, 86_400.0,
];

/// A gauge that was not set for so long is not shown any more: its task or pool is gone, or has nothing to show.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// Tags that have another value for every run or process.
const ENDLESS: [&str; 3] = ["dagrun_id", "run_id", "job_id"];

/// Keeps what Prometheus will ask for.
pub struct Prometheus {
    prefix: String,
    rules: Rules,
    inner: PrometheusRecorder,
}

/// Shows what is kept.
#[derive(Clone)]
pub struct Shown(PrometheusHandle);

impl Shown {
    /// Everything, as Prometheus reads it.
    pub fn text(&self) -> String {
        self.0.render()
    }

    /// Sums up what was measured since the last time. Without it, what is never read would pile up.
    pub fn sum_up(&self) {
        self.0.run_upkeep();
    }
}

impl Prometheus {
    /// One that has nothing yet, under the prefix and the rules of the settings.
    pub fn new(settings: &MetricsSettings) -> Result<Self, MetricsError> {
        let inner = PrometheusBuilder::new()
            .set_buckets(&BUCKETS)
            .map_err(|source| MetricsError::Prometheus { source: Box::new(source) })?
            .idle_timeout(MetricKindMask::GAUGE, Some(FORGOTTEN_AFTER))
            .build_recorder();
        Ok(Self { prefix: settings.prefix.clone(), rules: Rules::new(settings)?, inner })
    }

    /// What shows it.
    pub fn shown(&self) -> Shown {
        Shown(self.inner.handle())
    }

    /// The metric under its name here; none if it is not to be kept.
    fn key(&self, key: &Key) -> Option<Key> {
        if !self.rules.is_sent(key.name()) {
            return None;
        }
        let name = if self.prefix.is_empty() {
            key.name().to_owned()
        } else {
            format!("{}.{}", self.prefix, key.name())
        };
        let is_label =
            |label: &&Label| !ENDLESS.contains(&label.key()) && self.rules.is_tag_sent(label.key());
        let labels: Vec<Label> = key.labels().filter(is_label).cloned().collect();
        Some(Key::from_parts(name, labels))
    }
}

impl Recorder for Prometheus {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        self.key(key).map_or_else(Counter::noop, |key| self.inner.register_counter(&key, metadata))
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        self.key(key).map_or_else(Gauge::noop, |key| self.inner.register_gauge(&key, metadata))
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        self.key(key).map_or_else(Histogram::noop, |key| {
            Histogram::from_arc(Arc::new(InSeconds(self.inner.register_histogram(&key, metadata))))
        })
    }
}

/// A timer: it is given milliseconds.
struct InSeconds(Histogram);

impl HistogramFn for InSeconds {
    fn record(&self, value: f64) {
        self.0.record(value / 1000.0);
    }
}
