//! Where a run stands in a trace.

use serde_json::{Map, Value, json};

/// How much of a task a trace shows, as a run is told.
const DETAIL_LEVEL: &str = "airflow/task_span_detail_level";

/// The W3C trace context of a new run: a trace of its own that nobody samples. Its task instances begin with the same.
pub fn run_carrier(conf: &Map<String, Value>, random: [u8; 24]) -> Value {
    let number = |bytes: &[u8]| bytes.iter().fold(0_u128, |number, byte| (number << 8) | u128::from(*byte));
    let (trace, span) = random.split_at(16);
    let parent = format!("00-{:032x}-{:016x}-00", number(trace), number(span));
    let mut carrier = json!({"traceparent": parent});
    if let Some(level) = conf.get(DETAIL_LEVEL).and_then(whole).filter(|level| *level != 0) {
        carrier["tracestate"] = json!(format!("{DETAIL_LEVEL}={level}"));
    }
    carrier
}

/// Python's `int`, of what a configuration may hold.
#[expect(clippy::cast_possible_truncation, reason = "a level is a small number; int() cuts off the fraction")]
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => {
            number.as_i64().or_else(|| number.as_f64().map(|level| level.trunc() as i64))
        }
        Value::String(text) => text.trim().parse().ok(),
        Value::Bool(value) => Some(i64::from(*value)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carrier(conf: &Value) -> Value {
        run_carrier(conf.as_object().unwrap(), [0xab; 24])
    }

    #[test]
    fn a_run_has_a_trace_of_its_own() {
        let expected = "00-abababababababababababababababab-abababababababab-00";
        assert_eq!(carrier(&json!({})), json!({"traceparent": expected}));
    }

    #[test]
    fn the_level_of_detail_is_part_of_it() {
        let level = |level: Value| carrier(&json!({DETAIL_LEVEL: level}))["tracestate"].clone();
        assert_eq!(level(json!("2")), json!("airflow/task_span_detail_level=2"));
        assert_eq!(level(json!(1.9)), json!("airflow/task_span_detail_level=1"));
        assert_eq!(level(json!(0)), Value::Null);
        assert_eq!(level(json!("much")), Value::Null);
    }
}
