//! Metrics over OpenTelemetry's protocol, by HTTP and in protobuf's form, as Airflow exports them.
//!
//! What happened is summed up in memory and sent at intervals, by a thread of the library's own. Counters are sums, timers
//! exponential histograms in milliseconds, and names those of Airflow, the legacy ones too.

mod endpoint;
mod http;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{self as api, Meter, MeterProvider as _};
use opentelemetry_otlp::{MetricExporter, Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{
    Aggregation, Instrument, InstrumentKind, PeriodicReader, SdkMeterProvider, Stream,
};

use super::legacy::named;
use super::name::{Rules, is_plain_enough};
use super::recorder::MetricsError;
use super::settings::{MetricsSettings, OtelSettings};

/// How often metrics are sent unless configured otherwise.
const INTERVAL: Duration = Duration::from_mins(1);

/// The longest name. A legacy one that is longer is cut off there; any other is not sent.
const LONGEST: usize = 255;

/// Who names the metrics, as Airflow's exporter has it.
const SCOPE: &str = "airflow._shared.observability.metrics.otel_logger";

/// How many values the tags of one metric may have. Airflow's library has no limit; this is to keep a mistake from eating
/// up the memory.
const MAX_SERIES: usize = 100_000;

/// Sums up metrics and exports them.
pub struct Otel {
    prefix: String,
    legacy_names_on: bool,
    rules: Rules,
    meter: Meter,
    provider: SdkMeterProvider,
    /// Instruments that were asked for, by name.
    counters: Mutex<HashMap<String, api::Counter<u64>>>,
    histograms: Mutex<HashMap<String, api::Histogram<f64>>>,
    gauges: Mutex<HashMap<String, AnyGauge>>,
}

/// An export that goes on.
#[derive(Clone)]
pub struct Exporting(SdkMeterProvider);

impl Exporting {
    /// Sends what there is.
    pub fn flush(&self) {
        if let Err(error) = self.0.force_flush() {
            tracing::warn!("metrics could not be exported: {error}");
        }
    }
}

impl Otel {
    /// One that exports to where the settings say.
    pub fn new(settings: &MetricsSettings) -> Result<Self, MetricsError> {
        let provider = provider(&settings.otel)?;
        let prefix = Some(&settings.otel.prefix).filter(|prefix| !prefix.is_empty());
        Ok(Self {
            prefix: prefix.map_or("airflow", String::as_str).to_owned(),
            legacy_names_on: settings.legacy_names_on,
            rules: Rules::new(settings)?,
            meter: provider.meter(SCOPE),
            provider,
            counters: Mutex::default(),
            histograms: Mutex::default(),
            gauges: Mutex::default(),
        })
    }

    /// What sends, for those who want it sent at once.
    pub fn exporting(&self) -> Exporting {
        Exporting(self.provider.clone())
    }

    /// Every name of a metric that is exported, and its tags.
    fn named(&self, key: &Key) -> Vec<(String, Vec<KeyValue>)> {
        let mut found = Vec::with_capacity(2);
        for named in named(key, self.legacy_names_on) {
            if !self.rules.is_sent(&named.name) {
                continue;
            }
            let mut name = format!("{}.{}", self.prefix, named.name);
            let is_too_long = name.len() > LONGEST && !named.is_legacy;
            if is_too_long || !is_plain_enough(&name, false) {
                tracing::warn!(
                    "metric {name:?} is not exported: its name is too long, or has other characters"
                );
                continue;
            }
            name.truncate(LONGEST);
            let tags = named.tags.iter();
            let tags = tags.map(|tag| KeyValue::new(tag.key().to_owned(), tag.value().to_owned())).collect();
            found.push((name, tags));
        }
        found
    }
}

fn provider(settings: &OtelSettings) -> Result<SdkMeterProvider, MetricsError> {
    let endpoint = endpoint::of(settings)?;
    let exporter = MetricExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_http_client(http::Client::new())
        .with_endpoint(&endpoint)
        .build()
        .map_err(|error| MetricsError::Otel { endpoint: endpoint.clone(), source: Box::new(error) })?;
    let interval = settings.interval.filter(|interval| !interval.is_zero()).unwrap_or(INTERVAL);
    let reader = PeriodicReader::builder(exporter).with_interval(interval).build();
    let service = settings.service.clone().unwrap_or_else(|| "airflow".to_owned());
    tracing::info!("metrics are exported to {endpoint} every {} ms", interval.as_millis());
    Ok(SdkMeterProvider::builder()
        .with_resource(Resource::builder().with_service_name(service).build())
        .with_reader(reader)
        .with_view(stream)
        .build())
}

/// How a metric is summed up.
fn stream(instrument: &Instrument) -> Option<Stream> {
    let stream = Stream::builder().with_cardinality_limit(MAX_SERIES);
    let stream = if instrument.kind() == InstrumentKind::Histogram {
        let aggregation =
            Aggregation::Base2ExponentialHistogram { max_size: 160, max_scale: 20, record_min_max: true };
        stream.with_aggregation(aggregation)
    } else {
        stream
    };
    stream.build().ok()
}

impl Recorder for Otel {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let make = |name: &str| self.meter.u64_counter(name.to_owned()).build();
        Counter::from_arc(Arc::new(bound(self.named(key), &self.counters, make)))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let make = |name: &str| AnyGauge { meter: self.meter.clone(), name: name.to_owned() };
        Gauge::from_arc(Arc::new(bound(self.named(key), &self.gauges, make)))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let make = |name: &str| self.meter.f64_histogram(name.to_owned()).with_unit("ms").build();
        Histogram::from_arc(Arc::new(bound(self.named(key), &self.histograms, make)))
    }
}

/// The instruments of one metric, each with its tags.
struct Bound<I>(Vec<(I, Vec<KeyValue>)>);

fn bound<I: Clone>(
    named: Vec<(String, Vec<KeyValue>)>,
    known: &Mutex<HashMap<String, I>>,
    make: impl Fn(&str) -> I,
) -> Bound<I> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let instruments = named.into_iter().map(|(name, tags)| {
        let instrument = known.entry(name).or_insert_with_key(|name| make(name)).clone();
        (instrument, tags)
    });
    Bound(instruments.collect())
}

impl CounterFn for Bound<api::Counter<u64>> {
    fn increment(&self, value: u64) {
        self.0.iter().for_each(|(counter, tags)| counter.add(value, tags));
    }

    /// Sums only grow from where they are.
    fn absolute(&self, _value: u64) {}
}

impl HistogramFn for Bound<api::Histogram<f64>> {
    fn record(&self, value: f64) {
        self.0.iter().for_each(|(histogram, tags)| histogram.record(value, tags));
    }
}

/// Something that is set, or counted up and down: only its use tells.
#[derive(Clone)]
struct AnyGauge {
    meter: Meter,
    name: String,
}

impl GaugeFn for Bound<AnyGauge> {
    fn increment(&self, value: f64) {
        for (AnyGauge { meter, name }, tags) in &self.0 {
            meter.f64_up_down_counter(name.clone()).build().add(value, tags);
        }
    }

    fn decrement(&self, value: f64) {
        self.increment(-value);
    }

    fn set(&self, value: f64) {
        for (AnyGauge { meter, name }, tags) in &self.0 {
            meter.f64_gauge(name.clone()).build().record(value, tags);
        }
    }
}
