//! The fields of a record. What is missing, unknown or of another type is named.

use std::fmt::Display;
use std::str::FromStr;

use jiff::Timestamp;
use serde_json::{Map, Value};

/// An object with fields.
pub(super) struct Record<'r>(&'r Map<String, Value>);

/// What was answered, or the class of what was raised.
pub(super) enum Answer<'r> {
    Found(&'r Value),
    Raised(&'r str),
}

impl<'r> Record<'r> {
    /// Refuses what is not an object.
    pub(super) fn open(value: &'r Value) -> Result<Self, String> {
        value.as_object().map(Self).ok_or_else(|| format!("{value} is not an object"))
    }

    /// Refuses what is not an object or has other fields.
    pub(super) fn new(value: &'r Value, known: &[&str]) -> Result<Self, String> {
        let record = Self::open(value)?;
        let unknown = record.unknown(known).next();
        unknown.map_or(Ok(()), |key| Err(format!("the field {key} is unknown")))?;
        Ok(record)
    }

    /// Fields besides the known ones.
    pub(super) fn unknown(&self, known: &[&str]) -> impl Iterator<Item = &'r str> {
        let fields: &'r Map<String, Value> = self.0;
        fields.keys().map(String::as_str).filter(move |key| !known.contains(key))
    }

    pub(super) fn optional(&self, key: &str) -> Option<&'r Value> {
        self.0.get(key)
    }

    pub(super) fn required(&self, key: &str) -> Result<&'r Value, String> {
        self.optional(key).ok_or_else(|| format!("the field {key} is missing"))
    }

    pub(super) fn text(&self, key: &str) -> Result<&'r str, String> {
        typed(key, self.required(key)?, "a text", Value::as_str)
    }

    pub(super) fn optional_text(&self, key: &str) -> Result<Option<&'r str>, String> {
        self.optional(key).map(|value| typed(key, value, "a text", Value::as_str)).transpose()
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, String> {
        typed(key, self.required(key)?, "true or false", Value::as_bool)
    }

    /// A list that has something in it.
    pub(super) fn list(&self, key: &str) -> Result<&'r [Value], String> {
        let list = self.list_or_none(key)?;
        if list.is_empty() { Err(format!("{key} is empty")) } else { Ok(list) }
    }

    /// A list, which may be empty.
    pub(super) fn list_or_none(&self, key: &str) -> Result<&'r [Value], String> {
        typed(key, self.required(key)?, "a list", Value::as_array).map(Vec::as_slice)
    }

    /// An instant, or a civil time.
    pub(super) fn time<T: FromStr<Err: Display> + Display>(&self, key: &str) -> Result<T, String> {
        time(self.required(key)?).map_err(|problem| format!("{key}: {problem}"))
    }

    /// An instant that may be left out.
    pub(super) fn optional_instant(&self, key: &str) -> Result<Option<Timestamp>, String> {
        self.optional(key).map(|_| self.time(key)).transpose()
    }

    /// An instant, or null.
    pub(super) fn nullable_instant(&self, key: &str) -> Result<Option<Timestamp>, String> {
        if self.required(key)?.is_null() { Ok(None) } else { self.time(key).map(Some) }
    }

    /// The class of what was raised, if anything was.
    pub(super) fn error(&self) -> Result<Option<&'r str>, String> {
        match self.optional_text("error")? {
            Some("") => Err("error names nothing".to_owned()),
            error => Ok(error),
        }
    }

    /// What was answered: the record has either `x` or `error`.
    pub(super) fn answer(&self) -> Result<Answer<'r>, String> {
        match (self.optional("x"), self.error()?) {
            (Some(found), None) => Ok(Answer::Found(found)),
            (None, Some(error)) => Ok(Answer::Raised(error)),
            (Some(_), Some(_)) => Err("the record has both x and error".to_owned()),
            (None, None) => Err("the record has neither x nor error".to_owned()),
        }
    }
}

impl Answer<'_> {
    /// Whether we find the same, or raise where something was raised.
    pub(super) fn compare(&self, found: Result<Value, impl Display>) -> Result<(), String> {
        match (found, self) {
            (Err(_), Self::Raised(_)) => Ok(()),
            (Ok(found), Self::Found(expected)) if found == **expected => Ok(()),
            (Ok(found), Self::Found(expected)) => Err(format!("{found}, expected {expected}")),
            (Ok(found), Self::Raised(error)) => Err(format!("{found}, expected the error {error}")),
            (Err(reason), Self::Found(expected)) => Err(format!("no answer ({reason}), expected {expected}")),
        }
    }
}

/// A time as the vectors write it: microseconds in six digits, if there are any.
pub(super) fn time<T: FromStr<Err: Display> + Display>(value: &Value) -> Result<T, String> {
    let text = value.as_str().ok_or_else(|| format!("{value} is not a time"))?;
    let time: T = text.parse().map_err(|error| format!("{text}: {error}"))?;
    if text == format!("{time:.0}") || text == format!("{time:.6}") {
        Ok(time)
    } else {
        Err(format!("{text} is not how the vectors write {time}"))
    }
}

fn typed<'r, T>(
    key: &str,
    value: &'r Value,
    what: &str,
    read: impl Fn(&'r Value) -> Option<T>,
) -> Result<T, String> {
    read(value).ok_or_else(|| format!("{key} is {value}, which is not {what}"))
}
