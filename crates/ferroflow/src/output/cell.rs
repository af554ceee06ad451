//! What stands in a cell.

use std::borrow::Cow;

use ferroflow_model::python_literal;
use serde_json::Value;

use super::Format;

/// A value of a list. Numbers, truth values and times are texts, as they are in Airflow's lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Nothing,
    Text(String),
    List(Vec<Cell>),
    Map(Vec<(Cow<'static, str>, Cell)>),
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Nothing, Self::Text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// As Python says it.
impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::from(if value { "True" } else { "False" })
    }
}

impl Cell {
    /// What a JSON value is in a list of this format: a dict is one text in a table, and else all in it are texts.
    pub(crate) fn of_json(value: &Value, format: Format) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(|item| Self::of_json(item, format)).collect()),
            Value::Object(members) if format != Format::Table => {
                let entry = |(name, value): (&String, &Value)| {
                    (Cow::Owned(name.clone()), Self::of_json(value, format))
                };
                Self::Map(members.iter().map(entry).collect())
            }
            other => Self::Text(python_repr(other)),
        }
    }

    /// A text that may be missing.
    pub(crate) fn of_text(text: Option<&str>) -> Self {
        text.map_or(Self::Nothing, Self::from)
    }

    /// A number.
    pub(crate) fn of_number(number: impl std::fmt::Display) -> Self {
        Self::Text(number.to_string())
    }

    /// Whether there is anything in it to see.
    pub(super) fn says_something(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(entries) => !entries.is_empty(),
        }
    }

    pub(super) fn into_json(self) -> Value {
        match self {
            Self::Nothing => Value::Null,
            Self::Text(text) => Value::String(text),
            Self::List(items) => items.into_iter().map(Self::into_json).collect(),
            Self::Map(entries) => {
                entries.into_iter().map(|(key, value)| (key.into_owned(), value.into_json())).collect()
            }
        }
    }

    /// In a table: lists without brackets.
    pub(super) fn in_table(&self) -> String {
        match self {
            Self::Nothing => "None".to_owned(),
            Self::Text(text) => text.clone(),
            Self::List(items) => items.iter().map(Self::in_table).collect::<Vec<_>>().join(","),
            Self::Map(_) => self.in_python(),
        }
    }

    /// In plain columns: nothing is blank, lists are as Python shows them.
    pub(super) fn in_plain(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Text(text) => text.clone(),
            Self::List(_) | Self::Map(_) => self.in_python(),
        }
    }

    /// As Python's `repr` shows it.
    fn in_python(&self) -> String {
        match self {
            Self::Nothing => "None".to_owned(),
            Self::Text(text) => python_literal(text),
            Self::List(items) => {
                format!("[{}]", items.iter().map(Self::in_python).collect::<Vec<_>>().join(", "))
            }
            Self::Map(entries) => {
                let entry = |(key, value): &(Cow<'static, str>, Self)| {
                    format!("{}: {}", python_literal(key), value.in_python())
                };
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A JSON value as Python's `repr` shows it.
pub(crate) fn python_repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => ferroflow_model::python_float(float),
            None => number.to_string(),
        },
        Value::String(text) => python_literal(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(python_repr).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let entry = |(name, value): (&String, &Value)| {
                format!("{}: {}", python_literal(name), python_repr(value))
            };
            format!("{{{}}}", members.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shown_as_python_shows_them() {
        let texts = ["a", "it's", "\"", "it's \"so\"", "\\", "a\nb\t", "\u{1b}", "\u{e4}"];
        let shown = r#"['a', "it's", '"', 'it\'s "so"', '\\', 'a\nb\t', '\x1b', 'ä']"#;
        let list = Cell::List(texts.map(Cell::from).to_vec());
        assert_eq!(list.in_plain(), shown);
        let map = Cell::Map(vec![("key".into(), Cell::Nothing), ("other".into(), list)]);
        assert_eq!(map.in_table(), format!("{{'key': None, 'other': {shown}}}"));
    }
}
