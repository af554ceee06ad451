//! The records of a task's log, as lines for a terminal.

use serde_json::{Map, Value};

/// What a record says: its event, what else is in it, and where an error comes from.
pub(super) fn lines(record: &Map<String, Value>) -> Vec<String> {
    // Besides what is said elsewhere: which task instance it is stands before the line.
    // What every record has, and whose it is, which stands before the line.
    const NOT_SAID: [&str; 14] = [
        "event",
        "timestamp",
        "level",
        "logger",
        "filename",
        "lineno",
        "loc",
        "error_detail",
        "dag_id",
        "task_id",
        "run_id",
        "map_index",
        "try_number",
        "ti_id",
    ];
    let mut first = String::new();
    if let Some(level) = record.get("level").and_then(Value::as_str).filter(|level| *level != "info") {
        first.push_str(&level.to_uppercase());
        first.push_str(": ");
    }
    first.push_str(&plain(record.get("event").unwrap_or(&Value::Null)));
    for (key, value) in record.iter().filter(|(key, _)| !NOT_SAID.contains(&key.as_str())) {
        first.extend([" ", key, "=", &plain(value)]);
    }
    let mut lines: Vec<String> = first.lines().map(str::to_owned).collect();
    for error in record.get("error_detail").and_then(Value::as_array).into_iter().flatten() {
        lines.extend(traceback(error));
    }
    lines
}

/// An error with the places that it came through, the innermost last, as Python prints them.
fn traceback(error: &Value) -> Vec<String> {
    let frame = |frame: &Value| {
        let (file, line, name) = (&frame["filename"], &frame["lineno"], &frame["name"]);
        format!("  File {}, line {}, in {}", plain(file), plain(line), plain(name))
    };
    let frames = error["frames"].as_array().into_iter().flatten().map(frame);
    let what = format!("{}: {}", plain(&error["exc_type"]), plain(&error["exc_value"]));
    frames.chain(what.lines().map(str::to_owned)).collect()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(record: &Value) -> Vec<String> {
        lines(record.as_object().unwrap())
    }

    #[test]
    fn a_plain_record_is_what_it_says() {
        assert_eq!(
            told(
                &json!({"timestamp": "2026", "level": "info", "event": "hello", "logger": "task", "ti_id": "x"})
            ),
            ["hello"]
        );
        assert_eq!(
            told(&json!({"level": "warning", "event": "two\nlines", "tries": 2})),
            ["WARNING: two", "lines tries=2"]
        );
    }

    #[test]
    fn an_error_is_told_with_its_places() {
        let frames = json!([{"filename": "/dags/d.py", "lineno": 7, "name": "work"}]);
        let record = json!({"level": "error", "event": "Task failed with exception",
            "error_detail": [{"exc_type": "ValueError", "exc_value": "no", "frames": frames}]});
        assert_eq!(
            told(&record),
            ["ERROR: Task failed with exception", "  File /dags/d.py, line 7, in work", "ValueError: no"]
        );
    }
}
