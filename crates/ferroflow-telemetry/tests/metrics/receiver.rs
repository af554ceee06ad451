//! A collector of OpenTelemetry's: it answers every request, and decodes what arrives.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint, metric, number_data_point};
use prost::Message as _;

pub(crate) struct Collector {
    pub(crate) port: u16,
    received: Receiver<(String, ExportMetricsServiceRequest)>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, received) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if sender.send(answer(&mut stream.unwrap())).is_err() {
                    return;
                }
            }
        });
        Self { port, received }
    }

    /// The next request: its first line, and its body.
    pub(crate) fn next(&self) -> (String, ExportMetricsServiceRequest) {
        self.received.recv_timeout(std::time::Duration::from_mins(1)).unwrap()
    }
}

fn answer(stream: &mut TcpStream) -> (String, ExportMetricsServiceRequest) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = Vec::new();
    for line in reader.by_ref().lines() {
        let line = line.unwrap();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let length = head.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    (head.remove(0), ExportMetricsServiceRequest::decode(body.as_slice()).unwrap())
}

/// Every point, in words: what it is called, what it is, and what it says.
pub(crate) fn points(request: &ExportMetricsServiceRequest) -> Vec<String> {
    let scopes = request.resource_metrics.iter().flat_map(|resource| &resource.scope_metrics);
    let metrics = scopes.flat_map(|scope| &scope.metrics);
    let mut found: Vec<String> = metrics.flat_map(points_of).collect();
    found.sort();
    found
}

/// What names the sender.
pub(crate) fn service(request: &ExportMetricsServiceRequest) -> Option<String> {
    let resource = request.resource_metrics.first()?.resource.as_ref()?;
    tags(&resource.attributes).remove("service.name")
}

fn points_of(metric: &Metric) -> Vec<String> {
    let (name, unit) = (&metric.name, &metric.unit);
    let told = |kind: String, attributes: &[KeyValue], value: String| {
        format!("{name} [{unit}] {kind} {:?} {value}", tags(attributes))
    };
    match metric.data.as_ref().unwrap() {
        metric::Data::Gauge(gauge) => {
            let points = gauge.data_points.iter();
            points.map(|point| told("gauge".to_owned(), &point.attributes, number(point))).collect()
        }
        metric::Data::Sum(sum) => {
            let kind =
                format!("sum monotonic={} temporality={}", sum.is_monotonic, sum.aggregation_temporality);
            let points = sum.data_points.iter();
            points.map(|point| told(kind.clone(), &point.attributes, number(point))).collect()
        }
        metric::Data::ExponentialHistogram(histogram) => {
            let kind = format!("exponential temporality={}", histogram.aggregation_temporality);
            let points = histogram.data_points.iter();
            let value = |count: u64, sum: Option<f64>, min: Option<f64>, max: Option<f64>| {
                format!("count={count} sum={sum:?} min={min:?} max={max:?}")
            };
            points
                .map(|point| {
                    told(kind.clone(), &point.attributes, value(point.count, point.sum, point.min, point.max))
                })
                .collect()
        }
        other => panic!("{name} is {other:?}"),
    }
}

fn number(point: &NumberDataPoint) -> String {
    match point.value.as_ref().unwrap() {
        number_data_point::Value::AsInt(whole) => whole.to_string(),
        number_data_point::Value::AsDouble(number) => number.to_string(),
    }
}

fn tags(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |attribute: &KeyValue| match attribute.value.as_ref()?.value.as_ref()? {
        any_value::Value::StringValue(text) => Some((attribute.key.clone(), text.clone())),
        _ => None,
    };
    attributes.iter().filter_map(text).collect()
}
