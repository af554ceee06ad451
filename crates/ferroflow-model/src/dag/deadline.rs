//! What must have happened by when.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::Json;
use crate::document::{Problems, Reader, Value, decode};

/// A deadline of a DAG.
#[derive(Clone, Debug, PartialEq)]
pub enum Deadline {
    /// One that is stored as a row: documents in the database name it by its id.
    Stored(Uuid),
    /// One in full: documents that come from the DAG file.
    Inline(Box<DeadlineAlert>),
}

/// What to do if something takes too long.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadlineAlert {
    /// Its name.
    pub name: Option<Box<str>>,
    /// From when the time is counted.
    pub reference: DeadlineReference,
    /// How much time there is.
    pub interval: DeadlineInterval,
    /// What is called then, encoded as the document has it.
    pub callback: Json,
}

/// From when the time of a deadline is counted.
#[derive(Clone, Debug, PartialEq)]
pub enum DeadlineReference {
    /// The logical date of the run.
    LogicalDate,
    /// When the run was queued.
    QueuedAt,
    /// A fixed time.
    Fixed(Timestamp),
    /// The mean duration of past runs.
    AverageRuntime {
        /// Of how many.
        max_runs: u32,
        /// How many there must be.
        min_runs: u32,
    },
    /// What a custom class says.
    Custom {
        /// Its import path.
        class: Box<str>,
        /// What it serialized to.
        data: Json,
    },
}

/// How much time there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadlineInterval {
    /// This much.
    Fixed(SignedDuration),
    /// As many seconds as the variable of this name holds when a run is created.
    Variable(Box<str>),
}

/// What is called when a deadline is missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlineCallback {
    /// Who calls it.
    pub place: CallbackPlace,
    /// Its import path.
    pub path: String,
    /// What it is given, as the document has it.
    pub kwargs: Json,
}

/// Who calls what a deadline asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackPlace {
    /// The triggerer.
    Triggerer,
    /// An executor: the one of this name, or the usual one.
    Executor(Option<String>),
}

impl DeadlineAlert {
    /// Reads the columns of a stored deadline.
    pub fn of_columns(reference: &Json, interval: &Json, callback: &Json) -> Result<Self, Problems> {
        let (reference, interval, callback) = (reference.text(), interval.text(), callback.text());
        let text = format!(r#"{{"reference": {reference}, "interval": {interval}, "callback": {callback}}}"#);
        decode(&text, read_alert)
    }

    /// What is called.
    pub fn callback(&self) -> Result<DeadlineCallback, Problems> {
        decode(self.callback.text(), read_callback)
    }
}

fn read_callback<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<DeadlineCallback> {
    let class = reader.required(value, "__classname__", Reader::text)?;
    let is_awaited = class.ends_with(".AsyncCallback");
    if !is_awaited && !class.ends_with(".SyncCallback") {
        reader.within("__classname__", |reader| {
            reader.problem(format_args!("{class:?} is neither an AsyncCallback nor a SyncCallback"));
        });
        return None;
    }
    reader.required(value, "__data__", |reader, data| {
        let path = reader.required(data, "path", Reader::text)?;
        let kwargs = reader.optional(data, "kwargs", |_, kwargs| Some(kwargs.to_json()));
        let executor = reader.optional(data, "executor", Reader::text).map(str::to_owned);
        Some(DeadlineCallback {
            place: if is_awaited { CallbackPlace::Triggerer } else { CallbackPlace::Executor(executor) },
            path: path.to_owned(),
            kwargs: kwargs.unwrap_or_else(|| Json::from(serde_json::json!({}))),
        })
    })
}

/// Reads the list of deadlines, or the only one.
pub(super) fn read_deadlines<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Vec<Deadline>> {
    match value {
        Value::Object(_) => read_alert(reader, value).map(|alert| vec![Deadline::Inline(Box::new(alert))]),
        _ => reader.list(value, |reader, item| match item {
            Value::Text(text) => {
                let id = Uuid::try_parse(text).ok();
                if id.is_none() {
                    reader.problem(format_args!("{text:?} is not a UUID"));
                }
                id.map(Deadline::Stored)
            }
            _ => read_alert(reader, item).map(Box::new).map(Deadline::Inline),
        }),
    }
}

fn read_alert<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<DeadlineAlert> {
    reader.object(value)?;
    let value = value.get("__var").unwrap_or(value);
    let name = reader.optional(value, "name", Reader::text);
    let reference = reader.required(value, "reference", read_reference);
    let interval = reader.required(value, "interval", read_interval);
    let callback = reader.required(value, "callback", |_, callback| Some(callback.to_json()));
    Some(DeadlineAlert {
        name: name.map(Into::into),
        reference: reference?,
        interval: interval?,
        callback: callback?,
    })
}

/// A custom class may be called as one of Airflow's, so its path goes first.
fn read_reference<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<DeadlineReference> {
    reader.object(value)?;
    if let Some(class) = reader.optional(value, "__class_path", Reader::text) {
        return Some(DeadlineReference::Custom { class: class.into(), data: value.to_json() });
    }
    match reader.required(value, "reference_type", Reader::text)? {
        "DagRunLogicalDateDeadline" => Some(DeadlineReference::LogicalDate),
        "DagRunQueuedAtDeadline" => Some(DeadlineReference::QueuedAt),
        "FixedDatetimeDeadline" => {
            reader.required(value, "datetime", |reader, at| reader.instant(at)).map(DeadlineReference::Fixed)
        }
        "AverageRuntimeDeadline" => {
            let max_runs = reader.required(value, "max_runs", |reader, runs| reader.integer(runs))?;
            let min_runs = reader.optional(value, "min_runs", |reader, runs| {
                let runs = reader.integer(runs)?;
                if runs == 0 {
                    reader.problem("must be at least 1");
                }
                Some(runs)
            });
            Some(DeadlineReference::AverageRuntime { max_runs, min_runs: min_runs.unwrap_or(max_runs) })
        }
        other => {
            reader.within("reference_type", |reader| {
                reader
                    .problem(format_args!("{other:?} is not one of Airflow's, and there is no __class_path"));
            });
            None
        }
    }
}

fn read_interval<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<DeadlineInterval> {
    if !matches!(value, Value::Object(_)) {
        return reader.seconds(value).map(DeadlineInterval::Fixed);
    }
    let class = reader.required(value, "__classname__", Reader::text)?;
    if class == "datetime.timedelta" {
        return reader
            .required(value, "__data__", |reader, data| reader.seconds(data))
            .map(DeadlineInterval::Fixed);
    }
    if class.ends_with(".VariableInterval") || class.ends_with(".SerializedVariableInterval") {
        let key =
            reader.required(value, "__data__", |reader, data| reader.required(data, "key", Reader::text))?;
        return Some(DeadlineInterval::Variable(key.into()));
    }
    reader.within("__classname__", |reader| {
        reader.problem(format_args!("{class:?} is neither a timedelta nor a VariableInterval"));
    });
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deadlines(text: &str) -> Result<Vec<Deadline>, String> {
        decode(text, read_deadlines).map_err(|problems| problems.to_string())
    }

    fn reference(text: &str) -> Result<DeadlineReference, String> {
        decode(text, read_reference).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_stored_deadline_is_an_id() {
        let id = "01a1e071-049c-7f3d-8536-a8d9064c1ccf";
        let expected = Deadline::Stored(id.parse().unwrap());
        assert_eq!(deadlines(&format!("[\"{id}\"]")), Ok(vec![expected]));
        assert_eq!(deadlines(r#"["x"]"#).unwrap_err(), "[0]: \"x\" is not a UUID");
    }

    #[test]
    fn a_deadline_from_the_file_is_in_full() {
        let text = r#"{"name": "n", "reference": {"reference_type": "DagRunQueuedAtDeadline"},
            "interval": {"__classname__": "datetime.timedelta", "__version__": 2, "__data__": 300.0},
            "callback": {"path": "x"}}"#;
        let expected = Deadline::Inline(Box::new(DeadlineAlert {
            name: Some("n".into()),
            reference: DeadlineReference::QueuedAt,
            interval: DeadlineInterval::Fixed(SignedDuration::from_mins(5)),
            callback: Json::from(serde_json::json!({"path": "x"})),
        }));
        assert_eq!(deadlines(text), Ok(vec![expected.clone()]));
        assert_eq!(
            deadlines(&format!(r#"[{{"__type": "deadline_alert", "__var": {text}}}]"#)),
            Ok(vec![expected])
        );
    }

    #[test]
    fn every_reference_is_known() {
        let fixed = reference(r#"{"reference_type": "FixedDatetimeDeadline", "datetime": 60.0}"#);
        assert_eq!(fixed, Ok(DeadlineReference::Fixed(Timestamp::from_second(60).unwrap())));
        let average = reference(r#"{"reference_type": "AverageRuntimeDeadline", "max_runs": 9}"#);
        assert_eq!(average, Ok(DeadlineReference::AverageRuntime { max_runs: 9, min_runs: 9 }));
        let mine = reference(r#"{"reference_type": "DagRunQueuedAtDeadline", "__class_path": "my.Ref"}"#);
        assert!(matches!(mine, Ok(DeadlineReference::Custom { class, .. }) if &*class == "my.Ref"));
        assert_eq!(
            reference(r#"{"reference_type": "Nope"}"#).unwrap_err(),
            "reference_type: \"Nope\" is not one of Airflow's, and there is no __class_path"
        );
    }

    #[test]
    fn an_interval_is_a_number_a_duration_or_the_name_of_a_variable() {
        let interval = |text: &str| decode(text, read_interval).map_err(|problems| problems.to_string());
        assert_eq!(interval("1.5"), Ok(DeadlineInterval::Fixed(SignedDuration::from_millis(1500))));
        let variable = r#"{"__classname__": "airflow.sdk.definitions.deadline.VariableInterval",
            "__version__": 0, "__data__": {"key": "k"}}"#;
        assert_eq!(interval(variable), Ok(DeadlineInterval::Variable("k".into())));
        assert_eq!(
            interval(r#"{"__classname__": "x.Y", "__data__": 1}"#).unwrap_err(),
            "__classname__: \"x.Y\" is neither a timedelta nor a VariableInterval"
        );
        assert_eq!(interval("null").unwrap_err(), "document: expected a number, found null");
    }
}
