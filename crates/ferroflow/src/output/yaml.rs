//! YAML, by hand: what is printed are maps and lists of texts, mostly, and the readers that scripts use (`PyYAML`,
//! Ruby's, Go's) disagree about which plain words are texts. Libraries write what one of them reads.

use serde_json::Value;

/// A value as a document, without the last line break. Keys are sorted, as Airflow's are.
pub(crate) fn document(value: &Value) -> String {
    match node(value) {
        Node::Inline(text) => text,
        Node::List(lines) | Node::Map(lines) => lines.join("\n"),
    }
}

/// A value, and how it stands below a key.
enum Node {
    Inline(String),
    List(Vec<String>),
    Map(Vec<String>),
}

fn node(value: &Value) -> Node {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Node::Inline(value.to_string()),
        Value::String(text) => Node::Inline(scalar(text)),
        Value::Array(items) if items.is_empty() => Node::Inline("[]".to_owned()),
        Value::Object(entries) if entries.is_empty() => Node::Inline("{}".to_owned()),
        Value::Array(items) => Node::List(items.iter().flat_map(item).collect()),
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by(|one, other| one.0.cmp(other.0));
            Node::Map(entries.into_iter().flat_map(|(key, value)| entry(&scalar(key), value)).collect())
        }
    }
}

fn item(value: &Value) -> Vec<String> {
    let lines = match node(value) {
        Node::Inline(text) => vec![text],
        Node::List(lines) | Node::Map(lines) => lines,
    };
    let bullet = |(position, line)| format!("{}{line}", if position == 0 { "- " } else { "  " });
    lines.into_iter().enumerate().map(bullet).collect()
}

fn entry(key: &str, value: &Value) -> Vec<String> {
    let (first, below) = match node(value) {
        Node::Inline(text) => (format!("{key}: {text}"), Vec::new()),
        Node::List(lines) => (format!("{key}:"), lines),
        Node::Map(lines) => (format!("{key}:"), lines.iter().map(|line| format!("  {line}")).collect()),
    };
    std::iter::once(first).chain(below).collect()
}

/// A text in YAML: plain where no reader takes it for anything else, otherwise in quotes.
fn scalar(text: &str) -> String {
    const NOT_TEXT: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let is_ascii = text.chars().all(|c| matches!(c, ' '..='~'));
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !NOT_TEXT.iter().any(|word| text.eq_ignore_ascii_case(word))
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' ']);
    match (is_ascii, is_plain) {
        (true, true) => text.to_owned(),
        (true, false) => format!("'{}'", text.replace('\'', "''")),
        (false, _) => format!("\"{}\"", text.chars().map(escape).collect::<String>()),
    }
}

fn escape(c: char) -> String {
    match (c, u32::from(c)) {
        ('"' | '\\', _) => format!("\\{c}"),
        ('\n', _) => "\\n".to_owned(),
        ('\t', _) => "\\t".to_owned(),
        (' '..='~', _) => c.to_string(),
        (_, code @ ..=0xff) => format!("\\x{code:02X}"),
        (_, code @ ..=0xffff) => format!("\\u{code:04X}"),
        (_, code) => format!("\\U{code:08X}"),
    }
}
