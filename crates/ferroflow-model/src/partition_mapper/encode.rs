//! From a mapper back to the form that a serialized DAG has.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{MAPPERS, MapperKind, PartitionMapper, WAIT_POLICIES, WINDOWS, WaitPolicy, Window};
use crate::Json;

impl PartitionMapper {
    /// As Airflow writes it. A custom class is taken to write what it was read from.
    pub fn encode(&self) -> Value {
        let (class, mut data) = match &self.kind {
            MapperKind::Identity => ("identity.IdentityMapper".to_owned(), json!({})),
            MapperKind::AllowedKeys(keys) => {
                ("allowed_key.AllowedKeyMapper".to_owned(), json!({ "allowed_keys": keys }))
            }
            MapperKind::FixedKey(key) => {
                ("fixed_key.FixedKeyMapper".to_owned(), json!({ "downstream_key": key }))
            }
            MapperKind::StartOf { period, timezone, input_format, output_format } => (
                format!("temporal.StartOf{period}Mapper"),
                json!({
                    "timezone": timezone.encode(),
                    "input_format": input_format,
                    "output_format": output_format,
                }),
            ),
            MapperKind::Chain(mappers) => {
                ("chain.ChainMapper".to_owned(), json!({ "mappers": encoded(mappers) }))
            }
            MapperKind::Product { mappers, delimiter } => (
                "product.ProductMapper".to_owned(),
                json!({ "delimiter": delimiter, "mappers": encoded(mappers) }),
            ),
            MapperKind::Rollup { upstream, window, wait } => (
                "base.RollupMapper".to_owned(),
                json!({
                    "upstream_mapper": upstream.encode(),
                    "window": window.encode(),
                    "wait_policy": wait.encode(),
                }),
            ),
            MapperKind::FanOut { upstream, window, downstream } => (
                "temporal.FanOutMapper".to_owned(),
                json!({
                    "upstream_mapper": upstream.encode(),
                    "window": window.encode(),
                    "downstream_mapper": downstream.encode(),
                }),
            ),
            MapperKind::Custom { class, data } => return envelope(class, &value(data)),
        };
        if let Some(most) = self.max_downstream_keys {
            data["max_downstream_keys"] = most.into();
        }
        envelope(&format!("{MAPPERS}{class}"), &data)
    }
}

impl Window {
    fn encode(&self) -> Value {
        match self {
            Self::Period { period, direction } => {
                envelope(&format!("{WINDOWS}{period}Window"), &json!({ "direction": direction.as_str() }))
            }
            Self::Segments(segments) => {
                let sorted: BTreeSet<&String> = segments.iter().collect();
                envelope(&format!("{WINDOWS}SegmentWindow"), &json!({ "segments": sorted }))
            }
            Self::Custom { class, data } => envelope(class, &value(data)),
        }
    }
}

impl WaitPolicy {
    fn encode(self) -> Value {
        match self {
            Self::All => envelope(&format!("{WAIT_POLICIES}WaitForAll"), &json!({})),
            Self::AtLeast(count) => {
                envelope(&format!("{WAIT_POLICIES}MinimumCount"), &json!({ "n": count.get() }))
            }
        }
    }
}

fn encoded(mappers: &[PartitionMapper]) -> Vec<Value> {
    mappers.iter().map(PartitionMapper::encode).collect()
}

/// What is nested too deeply to be looked into is told apart by its text.
fn value(data: &Json) -> Value {
    data.value().unwrap_or_else(|_| data.text().into())
}

fn envelope(class: &str, data: &Value) -> Value {
    json!({ "__type": class, "__var": data })
}
