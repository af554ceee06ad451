//! Lines of logs as JSON objects, with the keys of Airflow's: when, how bad, what, who says so, and what it is about.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::registry::LookupSpan;

/// One object a line.
pub(super) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Line(Map::new());
        line.0.insert("timestamp".to_owned(), crate::clock::now().to_string().into());
        line.0.insert("level".to_owned(), word(*event.metadata().level()).into());
        line.0.insert("event".to_owned(), Value::Null);
        line.0.insert("logger".to_owned(), event.metadata().target().into());
        event.record(&mut line);
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

/// Python's words.
fn word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG | Level::TRACE => "debug",
    }
}

struct Line(Map<String, Value>);

impl Line {
    fn set(&mut self, field: &Field, value: impl Into<Value>) {
        let name = if field.name() == "message" { "event" } else { field.name() };
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};
    use std::sync::Arc;

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn a_line_has_what_it_is_about_as_keys() {
        let mut file = tempfile::tempfile().unwrap();
        let writer = Arc::new(file.try_clone().unwrap());
        let layer = tracing_subscriber::fmt::layer().with_writer(writer).event_format(JsonLines);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::warn!(dag_id = "d", try_number = 2, is_mapped = false, id = %7, "it \"failed\"");
        });
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        let (line, rest) = text.split_once('\n').unwrap();
        assert_eq!(rest, "");
        let line: Value = serde_json::from_str(line).unwrap();
        let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            ["timestamp", "level", "event", "logger", "dag_id", "try_number", "is_mapped", "id"]
        );
        assert_eq!(
            (&line["level"], &line["event"], &line["dag_id"], &line["try_number"], &line["id"]),
            (&"warning".into(), &"it \"failed\"".into(), &"d".into(), &2.into(), &"7".into())
        );
    }
}
