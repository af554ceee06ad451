//! `task_instance.executor_config`: a Python pickle, protocol 5.

use serde_json::{Number, Value};
use serde_pickle::HashableValue;

/// The pickled bytes. They are copied from row to row as they are: only values that JSON knows can be looked
/// at here, and a pickle may hold any Python object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorConfig(Vec<u8>);

impl ExecutorConfig {
    /// Pickles a value as Python does.
    pub fn pickle(value: &Value) -> Self {
        let mut body = Vec::new();
        write_value(&mut body, value);
        body.push(opcode::STOP);
        let mut bytes = vec![opcode::PROTOCOL, 5];
        // Python frames what is four bytes or longer; a reader takes both.
        if body.len() >= 4 {
            bytes.push(opcode::FRAME);
            bytes.extend((body.len() as u64).to_le_bytes());
        }
        bytes.extend(body);
        Self(bytes)
    }

    /// Takes bytes that Python pickled.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes for the database.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The value inside, or `None` if it holds more than JSON can say (a Python object, a tuple, bytes), or is
    /// nested deeper than can be meant.
    pub fn value(&self) -> Option<Value> {
        // The decoder calls itself for each level, and a row of a database is no reason to run out of stack:
        // there are at most as many levels as bytes that could begin one.
        let levels =
            self.0.iter().filter(|byte| b"]}()".contains(byte) || (0x85..=0x8f).contains(*byte)).count();
        match levels {
            0..=32 => decode(&self.0),
            33..=20_000 => std::thread::scope(|scope| {
                let decoder = std::thread::Builder::new().stack_size((levels + 64) * STACK_PER_LEVEL);
                decoder.spawn_scoped(scope, || decode(&self.0)).ok()?.join().ok()?
            }),
            _ => None,
        }
    }
}

/// What a task without any executor config has: an empty dict.
impl Default for ExecutorConfig {
    fn default() -> Self {
        Self::pickle(&Value::Object(serde_json::Map::new()))
    }
}

mod opcode {
    pub(super) const PROTOCOL: u8 = 0x80;
    pub(super) const FRAME: u8 = 0x95;
    pub(super) const STOP: u8 = b'.';
    pub(super) const MEMOIZE: u8 = 0x94;
    pub(super) const MARK: u8 = b'(';
    pub(super) const NONE: u8 = b'N';
    pub(super) const TRUE: u8 = 0x88;
    pub(super) const FALSE: u8 = 0x89;
    pub(super) const INT_1: u8 = b'K';
    pub(super) const INT_2: u8 = b'M';
    pub(super) const INT_4: u8 = b'J';
    pub(super) const LONG: u8 = 0x8a;
    pub(super) const FLOAT: u8 = b'G';
    pub(super) const SHORT_TEXT: u8 = 0x8c;
    pub(super) const TEXT: u8 = b'X';
    pub(super) const EMPTY_LIST: u8 = b']';
    pub(super) const APPENDS: u8 = b'e';
    pub(super) const EMPTY_DICT: u8 = b'}';
    pub(super) const SET_ITEMS: u8 = b'u';
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(opcode::NONE),
        Value::Bool(true) => out.push(opcode::TRUE),
        Value::Bool(false) => out.push(opcode::FALSE),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.extend([opcode::EMPTY_LIST, opcode::MEMOIZE]);
            if !items.is_empty() {
                out.push(opcode::MARK);
                for item in items {
                    write_value(out, item);
                }
                out.push(opcode::APPENDS);
            }
        }
        Value::Object(entries) => {
            out.extend([opcode::EMPTY_DICT, opcode::MEMOIZE]);
            if !entries.is_empty() {
                out.push(opcode::MARK);
                for (key, value) in entries {
                    write_text(out, key);
                    write_value(out, value);
                }
                out.push(opcode::SET_ITEMS);
            }
        }
    }
}

fn write_number(out: &mut Vec<u8>, number: &Number) {
    if let Some(whole) = number.as_i128() {
        write_whole(out, whole);
    } else {
        out.push(opcode::FLOAT);
        out.extend(number.as_f64().unwrap_or(f64::NAN).to_be_bytes());
    }
}

fn write_whole(out: &mut Vec<u8>, whole: i128) {
    if let Ok(byte) = u8::try_from(whole) {
        out.extend([opcode::INT_1, byte]);
    } else if let Ok(short) = u16::try_from(whole) {
        out.push(opcode::INT_2);
        out.extend(short.to_le_bytes());
    } else if let Ok(int) = i32::try_from(whole) {
        out.push(opcode::INT_4);
        out.extend(int.to_le_bytes());
    } else {
        // Two's complement, little endian, as many bytes as it takes: 9 hold any number that JSON parsed.
        out.extend([opcode::LONG, 9]);
        out.extend(&whole.to_le_bytes()[..9]);
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    if let Ok(length) = u8::try_from(text.len()) {
        out.extend([opcode::SHORT_TEXT, length]);
    } else {
        let length = u32::try_from(text.len()).expect("a text in a configuration is shorter than 4 GiB");
        out.push(opcode::TEXT);
        out.extend(length.to_le_bytes());
    }
    out.extend(text.as_bytes());
    out.push(opcode::MEMOIZE);
}

/// More than the decoder was seen to need, unoptimised.
const STACK_PER_LEVEL: usize = 16 * 1024;

/// As deep as `serde_json` goes.
const DEEPEST: usize = 127;

fn decode(bytes: &[u8]) -> Option<Value> {
    to_json(serde_pickle::value_from_slice(bytes, serde_pickle::DeOptions::new()).ok()?, 0)
}

fn to_json(value: serde_pickle::Value, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    let inner = |value| to_json(value, depth + 1);
    Some(match value {
        serde_pickle::Value::None => Value::Null,
        serde_pickle::Value::Bool(value) => Value::Bool(value),
        serde_pickle::Value::I64(value) => Value::from(value),
        serde_pickle::Value::Int(value) => Value::from(u64::try_from(value).ok()?),
        serde_pickle::Value::F64(value) => Value::Number(Number::from_f64(value)?),
        serde_pickle::Value::String(value) => Value::String(value),
        serde_pickle::Value::List(items) => {
            Value::Array(items.into_iter().map(inner).collect::<Option<_>>()?)
        }
        serde_pickle::Value::Dict(entries) => {
            let entries = entries.into_iter().map(|(key, value)| match key {
                HashableValue::String(key) => Some((key, inner(value)?)),
                _ => None,
            });
            Value::Object(entries.collect::<Option<_>>()?)
        }
        serde_pickle::Value::Bytes(_)
        | serde_pickle::Value::Tuple(_)
        | serde_pickle::Value::Set(_)
        | serde_pickle::Value::FrozenSet(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_dict_is_the_five_bytes_that_airflow_stores() {
        assert_eq!(ExecutorConfig::default().into_bytes(), [0x80, 0x05, 0x7d, 0x94, 0x2e]);
    }

    #[test]
    fn values_read_back() {
        let value = json!({
            "KubernetesExecutor": {"image": "a".repeat(300), "limits": [1, 300, 70_000, -5, 1_u64 << 40, u64::MAX]},
            "ratio": 0.25, "on": true, "off": false, "none": null, "empty": [{}, []], "é": "ü",
        });
        assert_eq!(ExecutorConfig::pickle(&value).value(), Some(value));
    }

    #[test]
    fn depth_is_no_danger() {
        for (depth, is_read) in [(1, true), (100, true), (300, false), (9_000, false), (100_000, false)] {
            // Lists in lists: EMPTY_LIST for each, APPEND for all but the outermost.
            let bytes = [&[0x80, 5][..], &vec![b']'; depth], &vec![b'a'; depth - 1], b"."].concat();
            assert_eq!(ExecutorConfig::from_bytes(bytes).value().is_some(), is_read, "{depth}");
        }
    }

    #[test]
    fn what_json_cannot_say_stays_bytes() {
        // pickle.dumps({"a": (1,)}, 5) and pickle.dumps({1}, 5)
        for bytes in [
            &b"\x80\x05\x95\x0b\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01a\x94K\x01\x85\x94s."[..],
            &b"\x80\x05\x95\x06\x00\x00\x00\x00\x00\x00\x00\x8f\x94(K\x01\x90."[..],
        ] {
            let config = ExecutorConfig::from_bytes(bytes.to_vec());
            assert_eq!(config.value(), None);
            assert_eq!(config.into_bytes(), bytes);
        }
    }
}
