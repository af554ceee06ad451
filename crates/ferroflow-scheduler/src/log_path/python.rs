//! Values in templates that behave as Python's do.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use minijinja::value::{Object, ObjectRepr, from_args};
use minijinja::{Error, ErrorKind, State, Value};

/// An object with attributes; one that is not there is undefined.
#[derive(Debug, Default)]
pub(super) struct Fields(HashMap<&'static str, Value>);

impl Fields {
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.0.insert(name, value.into());
    }
}

impl Object for Fields {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_str()?).cloned()
    }
}

/// `None`, which is written as that.
pub(super) fn none() -> Value {
    Value::from(())
}

/// A `datetime` in UTC.
#[derive(Debug)]
pub(super) struct Moment(pub(super) Timestamp);

impl Object for Moment {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let wall = self.0.to_zoned(TimeZone::UTC);
        Some(match key.as_str()? {
            "year" => Value::from(wall.year()),
            "month" => Value::from(wall.month()),
            "day" => Value::from(wall.day()),
            "hour" => Value::from(wall.hour()),
            "minute" => Value::from(wall.minute()),
            "second" => Value::from(wall.second()),
            "microsecond" => Value::from(wall.subsec_nanosecond() / 1000),
            _ => return None,
        })
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        name: &str,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        match name {
            "isoformat" => {
                let (): () = from_args(arguments)?;
                Ok(Value::from(iso_format(self.0)))
            }
            "strftime" => {
                let (format,): (&str,) = from_args(arguments)?;
                strftime(self.0, format).map(Value::from)
            }
            "date" => Ok(Value::from(self.0.strftime("%Y-%m-%d").to_string())),
            "timestamp" => Ok(Value::from(self.0.as_duration().as_secs_f64())),
            _ => Err(Error::new(ErrorKind::UnknownMethod, format!("a time has no method {name}"))),
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&iso_format(self.0).replacen('T', " ", 1))
    }
}

/// Python's `isoformat`: microseconds only if there are any.
pub(crate) fn iso_format(time: Timestamp) -> String {
    let has_fraction = time.subsec_nanosecond() / 1000 != 0;
    let format = if has_fraction { "%Y-%m-%dT%H:%M:%S%.6f+00:00" } else { "%Y-%m-%dT%H:%M:%S+00:00" };
    time.strftime(format).to_string()
}

/// Python's `strftime`, whose `%f` always has six digits and whose `%z` has no colon.
fn strftime(time: Timestamp, format: &str) -> Result<String, Error> {
    let wall = time.to_zoned(TimeZone::UTC);
    let mut adapted = String::with_capacity(format.len() + 8);
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        match (character, character == '%') {
            (_, true) => match characters.next() {
                Some('f') => adapted.push_str("%6f"),
                Some('Z') => adapted.push_str("UTC"),
                Some(code) => adapted.extend(['%', code]),
                None => adapted.push_str("%%"),
            },
            (other, false) => adapted.push(other),
        }
    }
    jiff::fmt::strtime::format(&adapted, &wall)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

/// The methods of Python's `str` that a path may need.
pub(super) fn method_of_text(value: &Value, method: &str, arguments: &[Value]) -> Result<Value, Error> {
    let unknown = || Error::new(ErrorKind::UnknownMethod, format!("{} has no method {method}", value.kind()));
    let text = value.as_str().ok_or_else(unknown)?;
    let trim_set = || -> Result<Option<Vec<char>>, Error> {
        let (set,): (Option<&str>,) = from_args(arguments)?;
        Ok(set.map(|set| set.chars().collect()))
    };
    Ok(match method {
        "replace" => {
            let (old, new): (&str, &str) = from_args(arguments)?;
            Value::from(text.replace(old, new))
        }
        "lower" => Value::from(text.to_lowercase()),
        "upper" => Value::from(text.to_uppercase()),
        "strip" => Value::from(match trim_set()? {
            Some(set) => text.trim_matches(set.as_slice()),
            None => text.trim(),
        }),
        "lstrip" => Value::from(match trim_set()? {
            Some(set) => text.trim_start_matches(set.as_slice()),
            None => text.trim_start(),
        }),
        "rstrip" => Value::from(match trim_set()? {
            Some(set) => text.trim_end_matches(set.as_slice()),
            None => text.trim_end(),
        }),
        "startswith" => {
            let (prefix,): (&str,) = from_args(arguments)?;
            Value::from(text.starts_with(prefix))
        }
        "endswith" => {
            let (suffix,): (&str,) = from_args(arguments)?;
            Value::from(text.ends_with(suffix))
        }
        "split" => {
            let (separator,): (Option<&str>,) = from_args(arguments)?;
            let parts: Vec<String> = match separator {
                Some(separator) => text.split(separator).map(str::to_owned).collect(),
                None => text.split_whitespace().map(str::to_owned).collect(),
            };
            Value::from(parts)
        }
        "zfill" => {
            let (width,): (usize,) = from_args(arguments)?;
            Value::from(format!("{text:0>width$}"))
        }
        _ => return Err(unknown()),
    })
}
