//! What stands in a cell.

use std::fmt::Write as _;

use serde_json::Value;

/// A value of a list. Numbers, truth values and times are texts, as they are in Airflow's lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Nothing,
    Text(String),
    List(Vec<Cell>),
    Map(Vec<(&'static str, Cell)>),
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
                entries.into_iter().map(|(key, value)| (key.to_owned(), value.into_json())).collect()
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
                let entry =
                    |(key, value): &(&str, Self)| format!("{}: {}", python_literal(key), value.in_python());
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn python_literal(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut literal = String::from(quote);
    for c in text.chars() {
        match c {
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '\\' => literal.push_str("\\\\"),
            c if c == quote => {
                literal.push('\\');
                literal.push(c);
            }
            // Writing to a string does not fail.
            c if c.is_control() => drop(write!(literal, "\\x{:02x}", u32::from(c))),
            c => literal.push(c),
        }
    }
    literal.push(quote);
    literal
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
        let map = Cell::Map(vec![("key", Cell::Nothing), ("other", list)]);
        assert_eq!(map.in_table(), format!("{{'key': None, 'other': {shown}}}"));
    }
}
