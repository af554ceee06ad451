//! What rows are compared with.

use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::Bind;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Time(Timestamp),
    Uuid(Uuid),
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Float,
    Text,
    Time,
    Uuid,
}

impl Kind {
    /// The value as a parameter, if it is of this kind. A NULL stays typed.
    pub(crate) fn bind(self, value: Option<&Value>) -> Option<Bind> {
        Some(match (self, value) {
            (Self::Bool, None) => Bind::Bool(None),
            (Self::Int, None) => Bind::Int(None),
            (Self::Float, None) => Bind::Float(None),
            (Self::Text, None) => Bind::Text(None),
            (Self::Time, None) => Bind::Time(None),
            (Self::Uuid, None) => Bind::Uuid(None),
            (Self::Bool, Some(Value::Bool(value))) => Bind::from(*value),
            (Self::Int, Some(Value::Int(value))) => Bind::from(*value),
            #[expect(clippy::cast_precision_loss, reason = "who compares with a fraction takes a near one")]
            (Self::Float, Some(Value::Int(value))) => Bind::from(*value as f64),
            (Self::Float, Some(Value::Float(value))) if value.is_finite() => Bind::from(*value),
            // PostgreSQL has no text with this character, and refuses the statement.
            (Self::Text, Some(Value::Text(value))) if !value.contains('\0') => Bind::from(value.as_str()),
            (Self::Time, Some(Value::Time(value))) if is_storable(*value) => Bind::from(*value),
            (Self::Uuid, Some(Value::Uuid(value))) => Bind::from(*value),
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Int => "a whole number",
            Self::Float => "a number",
            Self::Text => "a text",
            Self::Time => "a time of the years 1 to 9999",
            Self::Uuid => "a UUID",
        }
    }
}

/// Whether every database can compare its columns with this time.
fn is_storable(time: Timestamp) -> bool {
    const FIRST: Timestamp = Timestamp::constant(-62_135_596_800, 0);
    time >= FIRST
}

/// Whether it has a character that takes four bytes in UTF-8.
pub(super) fn is_wide(text: &str) -> bool {
    text.chars().any(|one| u32::from(one) > 0xFFFF)
}

/// Ids on MySQL and MariaDB have a character set of three bytes, which is not compared with four.
pub(super) fn as_wide(compared: &str) -> String {
    format!("CONVERT({compared} USING utf8mb4)")
}

macro_rules! value_from {
    ($($variant:ident($type:ty) $(via $convert:expr)?;)*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant($($convert)?(value))
            }
        }
    )*};
}

value_from! {
    Bool(bool);
    Int(i64);
    Int(i32) via i64::from;
    Float(f64);
    Text(String);
    Text(&str) via str::to_owned;
    Time(Timestamp);
    Uuid(Uuid);
}
