//! JSON as the metadata database keeps it.

use std::borrow::Cow;
use std::fmt;
use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::Value;
use serde_json::ser::Formatter;
use serde_json::value::RawValue;

/// The text of one JSON value.
///
/// It stays text until something needs to look inside: most of what ferroflow stores or hands on it never
/// reads, and text keeps what a parsed number would lose (an integer of 30 digits, `1.0` beside `1`).
/// SQL NULL is `Option::None`; the JSON value `null` is [`Json::null`], and Airflow tells them apart.
///
/// Python's `json` also writes `NaN`, `Infinity` and `-Infinity`, and reads them. They are kept as text, and code
/// looks inside sees `null`, which is what Airflow's API makes of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Json(String);

/// A text that is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("holds text that cannot be read as JSON")]
pub struct InvalidJson(#[source] pub(crate) serde_json::Error);

impl Json {
    /// Takes a text as it is, if it is JSON.
    pub fn from_text(text: String) -> Result<Self, InvalidJson> {
        match serde_json::from_str::<&RawValue>(&standard_json(&text)) {
            Ok(_) => Ok(Self(text)),
            Err(error) => Err(InvalidJson(error)),
        }
    }

    /// Writes what is a JSON value in another form.
    pub(crate) fn of(value: &impl Serialize) -> Self {
        let mut bytes = Vec::with_capacity(64);
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, PythonFormatter);
        value.serialize(&mut serializer).expect("a value writes to memory without failing");
        Self(String::from_utf8(bytes).expect("the formatter writes ASCII"))
    }

    /// The value `null`.
    pub fn null() -> Self {
        Self("null".to_owned())
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_text(self) -> String {
        self.0
    }

    /// The text as every reader of JSON takes it: `null` where Python alone has a word.
    pub fn standard_text(&self) -> Cow<'_, str> {
        standard_json(&self.0)
    }

    /// Looks inside. Fails on what is nested deeper than anybody means: 127 levels.
    pub fn value(&self) -> Result<Value, InvalidJson> {
        serde_json::from_str(&standard_json(&self.0)).map_err(InvalidJson)
    }
}

/// The words of Python's JSON that JSON does not have. The longest that fits comes first.
const PYTHON_WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// A text with `null` where it has one of Python's own words outside its strings.
pub fn standard_json(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', 'N', 'I', '-']) {
        let (before, here) = rest.split_at(at);
        replaced.push_str(before);
        let length = if here.starts_with('"') {
            string_length(here)
        } else if let Some(word) = PYTHON_WORDS.into_iter().find(|word| here.starts_with(word)) {
            replaced.push_str("null");
            rest = &here[word.len()..];
            continue;
        } else {
            1
        };
        replaced.push_str(&here[..length]);
        rest = &here[length..];
    }
    replaced.push_str(rest);
    Cow::Owned(replaced)
}

/// How many bytes the string takes that a text begins with; all of them if it does not end.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return at + 1,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

/// Writes a value as Python's `json.dumps` does: a space after `,` and `:`, everything beyond ASCII escaped.
/// Databases that keep JSON as text then hold the same bytes, whichever side wrote them.
impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        Self::of(value)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(Box::<str>::from(raw).into_string())
    }
}

/// As JSON within JSON: the text as every reader takes it.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.standard_text().into_owned()).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

struct PythonFormatter;

impl Formatter for PythonFormatter {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(python_float(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        for c in text.chars() {
            if matches!(c, ' '..='~') {
                writer.write_all(&[c as u8])?;
            } else {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

/// A float as Python's `json.dumps` writes it: the shortest digits that read back, with an exponent of two digits
/// or more outside 0.0001 to 10¹⁶.
pub fn python_float(value: f64) -> String {
    if value.is_infinite() {
        return if value < 0.0 { "-Infinity" } else { "Infinity" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if (-4..16).contains(&exponent) => {
            let plain = value.to_string();
            if plain.contains('.') { plain } else { format!("{plain}.0") }
        }
        Ok(exponent) => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
        Err(_) => scientific,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_is_json_within_json() {
        let holder = json!({"value": Json::from_text(r#"{"b": [1.50, NaN], "a": "é"}"#.to_owned()).unwrap()});
        assert_eq!(holder.to_string(), r#"{"value":{"b":[1.5,null],"a":"é"}}"#);
        let read: std::collections::BTreeMap<String, Json> =
            serde_json::from_str(r#"{"value": {"b": 1.50}}"#).unwrap();
        assert_eq!(read["value"].text(), r#"{"b": 1.50}"#);
    }

    #[test]
    fn values_are_written_as_python_writes_them() {
        let value =
            json!({"b": [1, 2.5, null, true], "a": {"text": "é\n\"🎉\u{7f}"}, "empty": {}, "none": []});
        assert_eq!(
            Json::from(value).text(),
            "{\"b\": [1, 2.5, null, true], \"a\": {\"text\": \"\\u00e9\\n\\\"\\ud83c\\udf89\\u007f\"}, \
             \"empty\": {}, \"none\": []}"
        );
    }

    #[test]
    fn floats_are_written_as_python_writes_them() {
        // Each text is what Python's json.dumps makes of it.
        for text in [
            "0.0",
            "-0.0",
            "1.0",
            "0.1",
            "1.5",
            "100.0",
            "0.0001",
            "1e-05",
            "1.2345e-07",
            "123456789012345.6",
            "1234567890123456.0",
            "1e+16",
            "1.2345678901234568e+29",
            "1.7976931348623157e+308",
            "5e-324",
        ] {
            let value: f64 = text.parse().unwrap();
            assert_eq!(Json::from(json!(value)).text(), text);
        }
    }

    #[test]
    fn text_is_kept_to_the_letter() {
        let text = r#"{"big": 123456789012345678901234567890, "x": 1.0}"#;
        assert_eq!(Json::from_text(text.to_owned()).unwrap().text(), text);
    }

    #[test]
    fn nesting_without_end_is_kept_as_text_and_not_looked_into() {
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        let json = Json::from_text(deep.clone()).unwrap();
        assert_eq!(json.text(), deep);
        assert!(json.value().is_err());
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let words = ["", "nan", "NaNa", "+Infinity", "-NaN", "[NaN NaN]", "{NaN: 1}", "{", "{} {}", "'a'"];
        for text in words {
            assert!(Json::from_text(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_words_of_python_alone_are_kept_and_seen_as_null() {
        for (text, seen) in [
            ("NaN", json!(null)),
            ("[NaN, Infinity,-Infinity, -1]", json!([null, null, null, -1])),
            (
                r#"{"NaN": NaN, "a\\": "\\\"Infinity", "b": Infinity}"#,
                json!({"NaN": null, "a\\": "\\\"Infinity", "b": null}),
            ),
            (r#"["-Infinity é", "N", NaN]"#, json!(["-Infinity é", "N", null])),
        ] {
            let json = Json::from_text(text.to_owned()).unwrap();
            assert_eq!((json.text(), json.value().unwrap()), (text, seen));
        }
    }
}
