//! Times in messages: text, or msgpack's timestamp.

use jiff::Timestamp;
use rmpv::Value;
use serde::{Deserializer, de};

use super::value::read_time;

/// A time or none, for `#[serde(with = …)]`.
pub(super) mod optional_time {
    use super::{Deserializer, Timestamp, Value, de, read_time};
    use serde::Deserialize as _;

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Nil => Ok(None),
            value => read_time(&value).map(Some).map_err(de::Error::custom),
        }
    }
}
