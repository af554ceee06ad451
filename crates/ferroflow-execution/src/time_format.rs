//! Times and durations in models: read as text or as msgpack's timestamp, written as text.

use jiff::{SignedDuration, Timestamp};
use rmpv::Value;
use serde::{Deserialize as _, Deserializer, Serializer, de};

use crate::value::read_time;

/// A time, for `#[serde(with = …)]`.
pub(crate) mod time {
    use super::{Deserializer, Serializer, Timestamp, Value, de, read_time};
    use serde::Deserialize as _;

    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(time)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        read_time(&Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// A time or none, for `#[serde(with = …)]`.
pub(crate) mod optional_time {
    use super::{Deserializer, Serializer, Timestamp, Value, de, read_time};
    use serde::Deserialize as _;

    #[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.collect_str(time),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Nil => Ok(None),
            value => read_time(&value).map(Some).map_err(de::Error::custom),
        }
    }
}

/// A duration or none: text as ISO 8601 writes it, or a number of seconds.
pub(crate) fn optional_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SignedDuration>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if let Some(seconds) = value.as_f64() {
        return SignedDuration::try_from_secs_f64(seconds).map(Some).map_err(de::Error::custom);
    }
    match value {
        Value::Nil => Ok(None),
        Value::String(text) => {
            let text = text.as_str().unwrap_or_default();
            let span: jiff::Span = text.parse().map_err(de::Error::custom)?;
            let days_are_24_hours = jiff::SpanRelativeTo::days_are_24_hours();
            span.to_duration(days_are_24_hours).map(Some).map_err(de::Error::custom)
        }
        other => Err(de::Error::custom(format!("{other} is no duration"))),
    }
}
