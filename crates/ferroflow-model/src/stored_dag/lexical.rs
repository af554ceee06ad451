//! JSON of which numbers keep their text.
//!
//! Airflow's hash of a DAG is one of text: `1e-06` and `0.000001` are different DAGs to it, and an integer of
//! thirty digits is not a float. So what is hashed is read here, and not as numbers.

use std::borrow::Cow;

use crate::Json;

/// Deeper nesting is not followed; [`crate::dag::Dag::decode`] refuses it, too.
const MAX_LEVELS: usize = 127;

/// One JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node<'t> {
    /// A number, `true`, `false` or `null`, as it stands.
    Word(&'t str),
    Text(Cow<'t, str>),
    List(Vec<Node<'t>>),
    /// With its keys in their order. Of two that are equal the last one counts.
    Object(Vec<(Cow<'t, str>, Node<'t>)>),
}

impl<'t> Node<'t> {
    /// Reads what is known to be JSON. `None` for what is nested too deep, or has half of a surrogate pair.
    pub(super) fn read(json: &'t Json) -> Option<Self> {
        let mut parser = Parser { text: json.text(), at: 0, levels: 0 };
        parser.value()
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(entries) => {
                entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The value under a key, unless it is null.
    pub(super) fn given(&self, key: &str) -> Option<&Self> {
        self.get(key).filter(|value| **value != Self::Word("null"))
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The same value as a text of its own.
    pub(super) fn to_json(&self) -> Json {
        let mut text = String::new();
        self.write(&mut text);
        Json::from_text(text).expect("what was read as JSON is written as JSON")
    }

    /// Writes it as Python's `json.dumps` does.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Word(word) => out.push_str(word),
            Self::Text(text) => write_text(out, text),
            Self::List(items) => write_list(out, items, |out, item| item.write(out)),
            Self::Object(entries) => write_object(out, entries.iter(), |out, (key, value)| {
                write_text(out, key);
                out.push_str(": ");
                value.write(out);
            }),
        }
    }
}

/// `[`, what `write` makes of each item, `]`.
pub(super) fn write_list<I: IntoIterator>(
    out: &mut String,
    items: I,
    write: impl FnMut(&mut String, I::Item),
) {
    out.push('[');
    write_separated(out, items, write);
    out.push(']');
}

/// `{`, what `write` makes of each entry, `}`.
pub(super) fn write_object<I: IntoIterator>(
    out: &mut String,
    entries: I,
    write: impl FnMut(&mut String, I::Item),
) {
    out.push('{');
    write_separated(out, entries, write);
    out.push('}');
}

fn write_separated<I: IntoIterator>(out: &mut String, items: I, mut write: impl FnMut(&mut String, I::Item)) {
    for (n, item) in items.into_iter().enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

/// A string in quotes, with everything beyond printable ASCII escaped.
pub(super) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            ' '..='~' => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend(["\\u".to_owned(), format!("{unit:04x}")]);
                }
            }
        }
    }
    out.push('"');
}

/// A parser for text that has been found to be JSON: it looks for nothing else.
struct Parser<'t> {
    text: &'t str,
    at: usize,
    levels: usize,
}

impl<'t> Parser<'t> {
    fn value(&mut self) -> Option<Node<'t>> {
        match self.peek()? {
            b'"' => self.string().map(Node::Text),
            b'[' => self.nested(|parser| parser.until(b']', Self::value).map(Node::List)),
            b'{' => self.nested(|parser| parser.until(b'}', Self::entry).map(Node::Object)),
            _ => Some(Node::Word(self.word())),
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.levels += 1;
        if self.levels > MAX_LEVELS {
            return None;
        }
        self.at += 1;
        let read = read(self);
        self.levels -= 1;
        read
    }

    fn until<T>(&mut self, end: u8, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut found = Vec::new();
        loop {
            match self.peek()? {
                byte if byte == end => {
                    self.at += 1;
                    return Some(found);
                }
                b',' => self.at += 1,
                _ => found.push(read(self)?),
            }
        }
    }

    fn entry(&mut self) -> Option<(Cow<'t, str>, Node<'t>)> {
        let key = self.string()?;
        self.peek()?;
        self.at += 1;
        Some((key, self.value()?))
    }

    fn string(&mut self) -> Option<Cow<'t, str>> {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        let mut end = 1;
        let mut is_plain = true;
        while *bytes.get(end)? != b'"' {
            let is_escape = bytes[end] == b'\\';
            is_plain &= !is_escape;
            end += 1 + usize::from(is_escape);
        }
        self.at += end + 1;
        if is_plain {
            return Some(Cow::Borrowed(&rest[1..end]));
        }
        serde_json::from_str::<String>(&rest[..=end]).ok().map(Cow::Owned)
    }

    fn word(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let end = rest.find([',', ']', '}', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at)?, b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> Option<String> {
        let json = Json::from_text(text.to_owned()).unwrap();
        Node::read(&json).map(|node| node.to_json().into_text())
    }

    #[test]
    fn numbers_keep_their_text_and_strings_are_written_as_python_does() {
        let text = r#" {"a":[1e-06 , 1E5,-0.0,123456789012345678901234567890, true,null ],"b":{},"c":[ ],"k\n\"":"é\/😀\u007f\u001f\b"} "#;
        let expected = r#"{"a": [1e-06, 1E5, -0.0, 123456789012345678901234567890, true, null], "b": {}, "c": [], "k\n\"": "\u00e9/\ud83d\ude00\u007f\u001f\b"}"#;
        assert_eq!(rewritten(text).as_deref(), Some(expected));
    }

    #[test]
    fn half_a_surrogate_pair_and_endless_nesting_are_not_read() {
        assert_eq!(rewritten(r#"["\ud800"]"#), None);
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(rewritten(&deep(MAX_LEVELS)), Some(deep(MAX_LEVELS)));
        assert_eq!(rewritten(&deep(MAX_LEVELS + 1)), None);
    }

    #[test]
    fn of_two_equal_keys_the_last_counts_and_null_is_not_given() {
        let json = Json::from_text(r#"{"a": 1, "a": null}"#.to_owned()).unwrap();
        let node = Node::read(&json).unwrap();
        assert_eq!(node.get("a"), Some(&Node::Word("null")));
        assert_eq!(node.given("a"), None);
    }
}
