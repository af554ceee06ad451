//! JSON that borrows its text.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use bumpalo::Bump;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserializer, Serialize, Serializer};

use super::reader::{Problem, Problems, Step, place_of};
use crate::Json;
use crate::json::standard_json;

/// How many values a document may hold. A DAG of 10,000 tasks has about 300,000 of them; at this limit parsing
/// takes some 600 MB.
const MAX_VALUES: u32 = 8_000_000;

/// One JSON value. Strings without escapes are slices of the text; everything else that has a size lies in one
/// arena, which makes a document cheap to build and to throw away. Objects keep their order and their
/// duplicates, of which the last one counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'t> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'t str),
    List(&'t [Value<'t>]),
    Object(&'t [(&'t str, Value<'t>)]),
}

impl<'t> Value<'t> {
    /// The last value under a key, if this is an object that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&'t Value<'t>> {
        match self {
            Self::Object(entries) => {
                entries.iter().rev().find(|(name, _)| *name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The type and the content of an envelope, `{"__type": …, "__var": …}`.
    pub(crate) fn envelope(&self) -> Option<(&'t str, &'t Value<'t>)> {
        match self.get("__type") {
            Some(Self::Text(name)) => Some((name, self.get("__var")?)),
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

    /// The same value on its own, to be changed.
    pub(crate) fn to_json_value(self) -> serde_json::Value {
        serde_json::to_value(self).expect("a JSON value is a JSON value")
    }

    /// The same value as text of its own, for parts that are handed on and not looked into.
    pub(crate) fn to_json(self) -> Json {
        Json::of(&self)
    }
}

/// The arena of a thread is kept for its next document if it is not larger than this.
const LARGEST_SPARE: usize = 32 << 20;

thread_local! {
    static SPARE: Cell<Option<Bump>> = const { Cell::new(None) };
}

/// Does something with an arena. A caller that reads many documents reads them all in the same memory, which is a tenth
/// of the time for a large one: fresh memory has to be cleared by the system first.
pub(crate) fn with_arena<T>(work: impl FnOnce(&Bump) -> T) -> T {
    let mut arena = SPARE.take().unwrap_or_default();
    let answer = work(&arena);
    arena.reset();
    if arena.allocated_bytes() <= LARGEST_SPARE {
        SPARE.set(Some(arena));
    }
    answer
}

/// Parses a text. What cannot be parsed is one problem, with the place and the line and column.
pub(crate) fn parse<'t>(text: &'t str, arena: &'t Bump) -> Result<Value<'t>, Problems> {
    let parsing = Parsing::new(arena);
    let text = match standard_json(text) {
        Cow::Borrowed(text) => text,
        Cow::Owned(replaced) => arena.alloc_str(&replaced),
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = ValueSeed(&parsing).deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    parsed.map_err(|error| {
        let mut steps = parsing.steps.into_inner();
        steps.reverse();
        Problems::one(Problem { place: place_of(&steps), what: error.to_string() })
    })
}

/// Where parsing stands.
///
/// The items of lists and objects that are not complete yet wait on a stack each. So a list is copied into the
/// arena once, when its length is known.
struct Parsing<'t> {
    arena: &'t Bump,
    values: Cell<u32>,
    items: RefCell<Vec<Value<'t>>>,
    entries: RefCell<Vec<(&'t str, Value<'t>)>>,
    /// Once something failed, the way back to the root.
    steps: RefCell<Vec<Step<'t>>>,
}

impl<'t> Parsing<'t> {
    fn new(arena: &'t Bump) -> Self {
        Self {
            arena,
            values: Cell::default(),
            items: RefCell::default(),
            entries: RefCell::default(),
            steps: RefCell::default(),
        }
    }
}

#[derive(Clone, Copy)]
struct ValueSeed<'p, 't>(&'p Parsing<'t>);

impl<'t> DeserializeSeed<'t> for ValueSeed<'_, 't> {
    type Value = Value<'t>;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Value<'t>, D::Error> {
        let values = self.0.values.get() + 1;
        if values > MAX_VALUES {
            return Err(D::Error::custom(format!("the document holds more than {MAX_VALUES} values")));
        }
        self.0.values.set(values);
        deserializer.deserialize_any(self)
    }
}

impl<'t> Visitor<'t> for ValueSeed<'_, 't> {
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

    #[expect(
        clippy::cast_precision_loss,
        reason = "beyond 64 bits serde_json does the same; see docs/differences.md"
    )]
    fn visit_u64<E>(self, value: u64) -> Result<Value<'t>, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'t>, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'t>, E> {
        Ok(Value::Text(self.0.arena.alloc_str(value)))
    }

    fn visit_borrowed_str<E>(self, value: &'t str) -> Result<Value<'t>, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut list: A) -> Result<Value<'t>, A::Error> {
        let waiting = &self.0.items;
        let start = waiting.borrow().len();
        for index in 0.. {
            match list.next_element_seed(self) {
                Ok(Some(value)) => waiting.borrow_mut().push(value),
                Ok(None) => break,
                Err(error) => {
                    self.0.steps.borrow_mut().push(Step::Index(index));
                    return Err(error);
                }
            }
        }
        let mut waiting = waiting.borrow_mut();
        let list = self.0.arena.alloc_slice_copy(&waiting[start..]);
        waiting.truncate(start);
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'t>>(self, mut object: A) -> Result<Value<'t>, A::Error> {
        let waiting = &self.0.entries;
        let start = waiting.borrow().len();
        while let Some(key) = object.next_key_seed(KeySeed(self.0.arena))? {
            match object.next_value_seed(self) {
                Ok(value) => waiting.borrow_mut().push((key, value)),
                Err(error) => {
                    self.0.steps.borrow_mut().push(Step::Key(key));
                    return Err(error);
                }
            }
        }
        let mut waiting = waiting.borrow_mut();
        let object = self.0.arena.alloc_slice_copy(&waiting[start..]);
        waiting.truncate(start);
        Ok(Value::Object(object))
    }
}

/// A key as a slice of the text where it can be one.
struct KeySeed<'t>(&'t Bump);

impl<'t> DeserializeSeed<'t> for KeySeed<'t> {
    type Value = &'t str;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<&'t str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for KeySeed<'t> {
    type Value = &'t str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, value: &str) -> Result<&'t str, E> {
        Ok(self.0.alloc_str(value))
    }

    fn visit_borrowed_str<E>(self, value: &'t str) -> Result<&'t str, E> {
        Ok(value)
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
                for item in *items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(entries) => {
                let mut object = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in *entries {
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

    fn problem(text: &str) -> String {
        parse(text, &Bump::new()).unwrap_err().to_string()
    }

    #[test]
    fn plain_strings_are_slices_of_the_text() {
        let text = r#"{"plain": "text", "with\u0020escape": "a\nb"}"#;
        let arena = Bump::new();
        let value = parse(text, &arena).unwrap();
        let Some(Value::Text(plain)) = value.get("plain") else { panic!("{value:?}") };
        assert!(text.as_bytes().as_ptr_range().contains(&plain.as_ptr()));
        assert_eq!(value.get("with escape"), Some(&Value::Text("a\nb")));
    }

    #[test]
    fn of_duplicate_keys_the_last_one_counts() {
        assert_eq!(parse(r#"{"a": 1, "a": 2}"#, &Bump::new()).unwrap().get("a"), Some(&Value::Int(2)));
    }

    #[test]
    fn integers_and_floats_stay_apart() {
        let expected = [
            Value::Int(600),
            Value::Float(600.0),
            Value::Int(-1),
            Value::Float(100.0),
            Value::Float(18_446_744_073_709_551_615.0),
        ];
        let arena = Bump::new();
        let value = parse("[600, 600.0, -1, 1e2, 18446744073709551615]", &arena).unwrap();
        assert_eq!(value, Value::List(&expected));
    }

    #[test]
    fn a_broken_text_is_one_problem_with_its_place() {
        assert_eq!(
            problem(r#"{"dag": {"tasks": [1, {"task_id": "a"#),
            "dag.tasks[1].task_id: EOF while parsing a string at line 1 column 36"
        );
        assert_eq!(
            problem(r#"{"dag": {"tasks": [1, {"x": [5, [6, 7], tru"#),
            "dag.tasks[1].x[2]: EOF while parsing a value at line 1 column 43"
        );
        assert_eq!(problem(""), "document: EOF while parsing a value at line 1 column 0");
        assert_eq!(problem("{} x"), "document: trailing characters at line 1 column 4");
    }

    #[test]
    fn what_is_not_json_is_refused() {
        assert_eq!(problem(r#"{"x": nan}"#), "x: expected ident at line 1 column 8");
        assert_eq!(problem(r#"{"x": "\ud800"}"#), "x: unexpected end of hex escape at line 1 column 14");
    }

    #[test]
    fn the_words_of_python_alone_are_null() {
        let arena = Bump::new();
        let value = parse(r#"{"x": NaN, "y": [-Infinity, "NaN"]}"#, &arena).unwrap();
        assert_eq!(value.to_json().text(), r#"{"x": null, "y": [null, "NaN"]}"#);
    }

    #[test]
    fn nesting_has_a_limit() {
        let problem = problem(&"[".repeat(100_000));
        assert!(problem.contains("recursion limit exceeded at line 1 column 128"), "{problem}");
    }

    #[test]
    fn the_number_of_values_has_a_limit() {
        let text = format!("{{\"tasks\": [{}0]}}", "0,".repeat(MAX_VALUES as usize));
        let place = format!("tasks[{}]: the document holds more than", MAX_VALUES - 2);
        assert!(problem(&text).starts_with(&place));
    }

    #[test]
    fn a_value_writes_back_to_what_it_was() {
        let text = r#"{"b": [1, 1.0, null, true, "é\n"], "a": {}}"#;
        let ascii = r#"{"b": [1, 1.0, null, true, "\u00e9\n"], "a": {}}"#;
        assert_eq!(parse(text, &Bump::new()).unwrap().to_json().text(), ascii);
    }
}
