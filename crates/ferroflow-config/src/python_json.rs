//! JSON as Python's `json` module reads and writes it: `NaN` is a number, and numbers are as large as their digits.

use std::fmt::Write as _;

use ferroflow_model::python_float;
use indexmap::IndexMap;

/// What `json.dumps(json.loads(text), indent=4)` gives; `None` if the text is not JSON.
pub(crate) fn indented(text: &str) -> Option<String> {
    let mut parser = Parser { rest: text };
    let value = parser.value(0)?;
    parser.skip_space();
    if !parser.rest.is_empty() {
        return None;
    }
    let mut written = String::with_capacity(text.len());
    value.write(&mut written, 0);
    Some(written)
}

enum Value {
    /// As it is written.
    Scalar(String),
    List(Vec<Value>),
    /// Of two values with the same name the later counts, in the place of the first.
    Object(IndexMap<String, Value>),
}

impl Value {
    fn write(&self, text: &mut String, depth: usize) {
        match self {
            Self::Scalar(scalar) => text.push_str(scalar),
            Self::List(items) => {
                write_items(text, depth, ['[', ']'], items, |text, item| item.write(text, depth + 1));
            }
            Self::Object(members) => write_items(text, depth, ['{', '}'], members, |text, (name, value)| {
                text.push_str(name);
                text.push_str(": ");
                value.write(text, depth + 1);
            }),
        }
    }
}

fn write_items<T>(
    text: &mut String,
    depth: usize,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    let new_line = |text: &mut String, depth| {
        text.push('\n');
        text.extend(std::iter::repeat_n("    ", depth));
    };
    let mut any = false;
    text.push(open);
    for item in items {
        if any {
            text.push(',');
        }
        any = true;
        new_line(text, depth + 1);
        write(text, item);
    }
    if any {
        new_line(text, depth);
    }
    text.push(close);
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        // No configuration is nested this deep; a hostile one must not exhaust the stack.
        const DEEPEST: usize = 128;
        const WORDS: [&str; 6] = ["null", "true", "false", "NaN", "Infinity", "-Infinity"];
        if depth > DEEPEST {
            return None;
        }
        self.skip_space();
        if self.take("[") {
            return self.list(depth);
        }
        if self.take("{") {
            return self.object(depth);
        }
        if self.rest.starts_with('"') {
            return self.string().map(Value::Scalar);
        }
        match WORDS.into_iter().find(|word| self.take(word)) {
            Some(word) => Some(Value::Scalar(word.to_owned())),
            None => self.number().map(Value::Scalar),
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        self.skip_space();
        if self.take("]") {
            return Some(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take("]") {
                return Some(Value::List(items));
            }
            self.take(",").then_some(())?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = IndexMap::new();
        self.skip_space();
        if self.take("}") {
            return Some(Value::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            self.skip_space();
            self.take(":").then_some(())?;
            members.insert(name, self.value(depth + 1)?);
            self.skip_space();
            if self.take("}") {
                return Some(Value::Object(members));
            }
            self.take(",").then_some(())?;
        }
    }

    /// A string in quotes, in ASCII.
    fn string(&mut self) -> Option<String> {
        let mut escaped = false;
        let end = self.rest.strip_prefix('"')?.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        let (literal, rest) = self.rest.split_at(end + 2);
        self.rest = rest;
        let text: String = serde_json::from_str(literal).ok()?;
        Some(in_ascii(&serde_json::to_string(&text).ok()?))
    }

    fn number(&mut self) -> Option<String> {
        let length = self.rest.find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c));
        let (literal, rest) = self.rest.split_at(length.unwrap_or(self.rest.len()));
        self.rest = rest;
        // Whether it is a number at all, with its leading zeros and dots, is known elsewhere.
        serde_json::from_str::<&serde_json::value::RawValue>(literal).ok()?;
        match literal {
            "-0" => Some("0".to_owned()),
            integer if !integer.contains(['.', 'e', 'E']) => Some(integer.to_owned()),
            float => Some(python_float(float.parse().ok()?)),
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, prefix: &str) -> bool {
        self.rest.strip_prefix(prefix).is_some_and(|rest| {
            self.rest = rest;
            true
        })
    }
}

fn in_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        if c == ' ' || c.is_ascii_graphic() {
            ascii.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(ascii, "\\u{unit:04x}");
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("1e-07" => Some("1e-07".to_owned()))]
    #[test_case("12345678901234567890123" => Some("12345678901234567890123".to_owned()))]
    #[test_case("1E5" => Some("100000.0".to_owned()))]
    #[test_case("1e22" => Some("1e+22".to_owned()))]
    #[test_case("0.0001" => Some("0.0001".to_owned()))]
    #[test_case("-1e999" => Some("-Infinity".to_owned()))]
    #[test_case(" [ ] " => Some("[]".to_owned()))]
    #[test_case("\"\u{7f}ü\"" => Some(r#""\u007f\u00fc""#.to_owned()))]
    #[test_case(r#"{"a": [1, NaN]}"# => Some("{\n    \"a\": [\n        1,\n        NaN\n    ]\n}".to_owned()))]
    #[test_case("01" => None)]
    #[test_case("1." => None)]
    #[test_case("" => None)]
    #[test_case("[1,]" => None)]
    #[test_case("[1] 2" => None)]
    #[test_case("{1: 2}" => None)]
    #[test_case(r#""\"# => None)]
    #[test_case("\"a\nb\"" => None)]
    fn indents(text: &str) -> Option<String> {
        indented(text)
    }

    #[test]
    fn endless_nesting_is_no_json() {
        assert_eq!(indented(&"[".repeat(1_000_000)), None);
    }
}
