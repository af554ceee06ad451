//! JSON that borrows its text.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserializer, Serialize, Serializer};

use super::reader::{Problem, Problems, Step, place_of};
use crate::Json;

/// How many values a document may hold. A DAG of 10,000 tasks has about 200,000 of them; at this limit the
/// parsed document takes some 400 MB.
const MOST_VALUES: u32 = 8_000_000;

/// One JSON value. Strings without escapes are slices of the text; objects keep their order and their
/// duplicates, of which the last one counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'t> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'t, str>),
    List(Vec<Value<'t>>),
    Object(Vec<(Cow<'t, str>, Value<'t>)>),
}

impl<'t> Value<'t> {
    /// The last value under a key, if this is an object that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Value<'t>> {
        match self {
            Self::Object(entries) => {
                entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// What it is, as a sentence would say it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The same value as text of its own, for parts that are handed on and not looked into.
    pub(crate) fn to_json(&self) -> Json {
        let value = serde_json::to_value(self).expect("a JSON value is a JSON value");
        Json::from(value)
    }
}

/// Parses a text. What cannot be parsed is one problem, with the place and the line and column.
pub(crate) fn parse(text: &str) -> Result<Value<'_>, Problems> {
    let progress = Progress::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = ValueSeed(&progress).deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    parsed.map_err(|error| {
        let mut steps = progress.steps.into_inner();
        steps.reverse();
        let steps: Vec<Step<'_>> = steps.iter().map(OwnedStep::borrow).collect();
        Problems::one(Problem { place: place_of(&steps), what: error.to_string() })
    })
}

/// Where parsing stands: how many values so far, and, once something failed, the way back to the root.
#[derive(Default)]
struct Progress {
    values: Cell<u32>,
    steps: RefCell<Vec<OwnedStep>>,
}

enum OwnedStep {
    Key(String),
    Index(usize),
}

impl OwnedStep {
    fn borrow(&self) -> Step<'_> {
        match self {
            Self::Key(key) => Step::Key(key),
            Self::Index(index) => Step::Index(*index),
        }
    }
}

#[derive(Clone, Copy)]
struct ValueSeed<'p>(&'p Progress);

impl<'t> DeserializeSeed<'t> for ValueSeed<'_> {
    type Value = Value<'t>;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Value<'t>, D::Error> {
        let values = self.0.values.get() + 1;
        if values > MOST_VALUES {
            return Err(D::Error::custom(format!("the document holds more than {MOST_VALUES} values")));
        }
        self.0.values.set(values);
        deserializer.deserialize_any(self)
    }
}

impl<'t> Visitor<'t> for ValueSeed<'_> {
    type Value = Value<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'t>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'t>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'t>, E> {
        Ok(Value::Int(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "an integer beyond 63 bits is only ever compared")]
    fn visit_u64<E>(self, value: u64) -> Result<Value<'t>, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'t>, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'t>, E> {
        Ok(Value::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_borrowed_str<E>(self, value: &'t str) -> Result<Value<'t>, E> {
        Ok(Value::Text(Cow::Borrowed(value)))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<Value<'t>, A::Error> {
        let mut list = Vec::new();
        loop {
            match items.next_element_seed(self) {
                Ok(Some(value)) => list.push(value),
                Ok(None) => return Ok(Value::List(list)),
                Err(error) => {
                    self.0.steps.borrow_mut().push(OwnedStep::Index(list.len()));
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'t>>(self, mut entries: A) -> Result<Value<'t>, A::Error> {
        let mut object = Vec::new();
        while let Some(key) = entries.next_key_seed(KeySeed)? {
            match entries.next_value_seed(self) {
                Ok(value) => object.push((key, value)),
                Err(error) => {
                    self.0.steps.borrow_mut().push(OwnedStep::Key(key.into_owned()));
                    return Err(error);
                }
            }
        }
        Ok(Value::Object(object))
    }
}

/// A key as a slice of the text where it can be one; serde's own `Cow` always copies.
struct KeySeed;

impl<'t> DeserializeSeed<'t> for KeySeed {
    type Value = Cow<'t, str>;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Cow<'t, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for KeySeed {
    type Value = Cow<'t, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, value: &str) -> Result<Cow<'t, str>, E> {
        Ok(Cow::Owned(value.to_owned()))
    }

    fn visit_borrowed_str<E>(self, value: &'t str) -> Result<Cow<'t, str>, E> {
        Ok(Cow::Borrowed(value))
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(entries) => {
                let mut object = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    object.serialize_entry(key, value)?;
                }
                object.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_strings_and_keys_are_slices_of_the_text() {
        let value = parse(r#"{"plain": "text", "with\u0020escape": "a\nb"}"#).unwrap();
        let Value::Object(entries) = &value else { panic!("an object") };
        assert!(matches!(&entries[0], (Cow::Borrowed("plain"), Value::Text(Cow::Borrowed("text")))));
        assert_eq!(value.get("with escape"), Some(&Value::Text("a\nb".into())));
    }

    #[test]
    fn of_duplicate_keys_the_last_one_counts() {
        assert_eq!(parse(r#"{"a": 1, "a": 2}"#).unwrap().get("a"), Some(&Value::Int(2)));
    }

    #[test]
    fn integers_and_floats_stay_apart() {
        let value = parse("[600, 600.0, -1, 1e2, 18446744073709551615]").unwrap();
        let expected = [
            Value::Int(600),
            Value::Float(600.0),
            Value::Int(-1),
            Value::Float(100.0),
            Value::Float(18_446_744_073_709_551_615.0),
        ];
        assert_eq!(value, Value::List(expected.to_vec()));
    }

    #[test]
    fn a_broken_text_is_one_problem_with_its_place() {
        let problems = parse(r#"{"dag": {"tasks": [1, {"task_id": "a"#).unwrap_err();
        assert_eq!(
            problems.to_string(),
            "dag.tasks[1].task_id: EOF while parsing a string at line 1 column 36"
        );
        assert_eq!(
            parse("").unwrap_err().to_string(),
            "document: EOF while parsing a value at line 1 column 0"
        );
        assert_eq!(
            parse("{} x").unwrap_err().to_string(),
            "document: trailing characters at line 1 column 4"
        );
    }

    #[test]
    fn nesting_has_a_limit() {
        let problems = parse(&"[".repeat(100_000)).unwrap_err();
        assert!(problems.to_string().contains("recursion limit exceeded at line 1 column 128"), "{problems}");
    }

    #[test]
    fn the_number_of_values_has_a_limit() {
        let text = format!("{{\"tasks\": [{}0]}}", "0,".repeat(MOST_VALUES as usize));
        let problems = parse(&text).unwrap_err();
        let place = problems.list()[0].place.clone();
        assert_eq!(place, format!("tasks[{}]", MOST_VALUES - 2));
    }

    #[test]
    fn a_value_writes_back_to_what_it_was() {
        let text = r#"{"b": [1, 1.0, null, true, "é\n"], "a": {}}"#;
        let ascii = r#"{"b": [1, 1.0, null, true, "\u00e9\n"], "a": {}}"#;
        assert_eq!(parse(text).unwrap().to_json().text(), ascii);
    }
}
