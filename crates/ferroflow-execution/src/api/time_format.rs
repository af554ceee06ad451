//! Times and durations of the models, as text.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserializer, Serializer, de};
use serde_json::Value;

/// A time, for `#[serde(with = …)]`.
pub(super) mod time {
    use super::{Deserializer, Serializer, Timestamp, de, parsed};
    use serde::Deserialize as _;

    pub(in crate::api) fn serialize<S: Serializer>(
        time: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(time)
    }

    pub(in crate::api) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        parsed(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// A time or none, for `#[serde(with = …)]`.
pub(super) mod optional_time {
    use super::{Deserializer, Serializer, Timestamp, de, parsed};
    use serde::Deserialize as _;

    #[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
    pub(in crate::api) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.collect_str(time),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::api) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.as_deref().map(parsed).transpose().map_err(de::Error::custom)
    }
}

/// A list of times or none, for `#[serde(with = …)]`.
pub(super) mod optional_times {
    use super::{Deserializer, Serializer, Timestamp, de, parsed};
    use serde::Deserialize as _;

    #[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
    pub(in crate::api) fn serialize<S: Serializer>(
        times: &Option<Vec<Timestamp>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match times {
            Some(times) => serializer.collect_seq(times.iter().map(Timestamp::to_string)),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::api) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<Timestamp>>, D::Error> {
        let Some(texts) = Option::<Vec<String>>::deserialize(deserializer)? else { return Ok(None) };
        let times = texts.iter().map(|text| parsed(text)).collect::<Result<_, _>>();
        times.map(Some).map_err(de::Error::custom)
    }
}

/// A duration or none, for `#[serde(with = …)]`: text as ISO 8601 writes it, or a number of seconds.
pub(super) mod optional_duration {
    use super::{Deserializer, Serializer, SignedDuration, Value, de};
    use serde::Deserialize as _;

    #[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
    pub(in crate::api) fn serialize<S: Serializer>(
        duration: &Option<SignedDuration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => serializer.collect_str(duration),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::api) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SignedDuration>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(None),
            Value::Number(seconds) => {
                let seconds = seconds.as_f64().unwrap_or(f64::NAN);
                SignedDuration::try_from_secs_f64(seconds).map(Some).map_err(de::Error::custom)
            }
            Value::String(text) => {
                let span: jiff::Span = text.parse().map_err(de::Error::custom)?;
                let days_are_24_hours = jiff::SpanRelativeTo::days_are_24_hours();
                span.to_duration(days_are_24_hours).map(Some).map_err(de::Error::custom)
            }
            other => Err(de::Error::custom(format!("{other} is no duration"))),
        }
    }
}

fn parsed(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|error| format!("{text:?} is no time with a zone: {error}"))
}
