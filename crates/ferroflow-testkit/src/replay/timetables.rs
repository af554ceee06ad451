//! Timetables and what Airflow's classes answered.

use ferroflow_model::state::RunType;
use ferroflow_model::timetable::{DataInterval, Restriction, RunInfo, RunsBetween, Timetable};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::cron_syntax;
use super::record::{Answer, Record};

/// A kind of records: how one is asked again, and the fields that it may have.
pub(super) struct Kind {
    name: &'static str,
    check: fn(&Record<'_>) -> Result<(), String>,
    fields: &'static [&'static str],
}

const KINDS: [Kind; 10] = [
    Kind { name: "next", check: next, fields: &["id", "tt", "mode", "restriction", "last", "steps"] },
    Kind { name: "manual", check: manual, fields: &["id", "tt", "run_after", "x", "error"] },
    Kind {
        name: "backfill",
        check: backfill,
        fields: &["id", "tt", "earliest", "latest", "now", "x", "truncated", "error"],
    },
    Kind { name: "partition_date", check: partition_date, fields: &["id", "tt", "key", "x", "error"] },
    Kind { name: "localize", check: localize, fields: &["id", "tt", "at", "x", "error"] },
    Kind {
        name: "cron",
        check: cron_syntax::cron,
        fields: &["id", "expr", "start", "next", "prev", "every_hour"],
    },
    Kind { name: "syntax", check: cron_syntax::syntax, fields: &["id", "expr", "error", "expanded", "runs"] },
    Kind {
        name: "run_id",
        check: run_id,
        fields: &["id", "tt", "run_type", "run_after", "partition_key", "random", "x", "error"],
    },
    Kind {
        name: "describe",
        check: describe,
        fields: &[
            "id",
            "tt",
            "summary",
            "description",
            "type_name",
            "periodic",
            "can_be_scheduled",
            "partitioned",
            "active_runs_limit",
            "run_ordering",
        ],
    },
    Kind { name: "validate", check: validate, fields: &["id", "tt", "now", "x", "error"] },
];

/// How many runs of a backfill may come before an error, when they are not recorded.
const MAX_RUNS: usize = 10_000;

impl Kind {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Asks what one record asks and compares the answers.
    pub(super) fn check(&self, record: &Value) -> Result<(), String> {
        let record = Record::open(record)?;
        record.optional_text("id")?;
        (self.check)(&record)
    }

    /// Fields of a record that are not looked at.
    pub(super) fn unknown_fields<'r>(&self, record: &'r Value) -> Vec<&'r str> {
        Record::open(record).map_or_else(|_| Vec::new(), |record| record.unknown(self.fields).collect())
    }
}

fn next(record: &Record<'_>) -> Result<(), String> {
    let timetable = timetable(record)?;
    let bounds = Record::new(record.required("restriction")?, &["earliest", "latest", "catchup"])?;
    let restriction = Restriction {
        earliest: bounds.nullable_instant("earliest")?,
        latest: bounds.nullable_instant("latest")?,
        catchup: bounds.flag("catchup")?,
    };
    let mut last = record.optional("last").map(optional_run).transpose()?.flatten();
    let mut is_over = false;
    for (n, step) in record.list("steps")?.iter().enumerate() {
        if is_over {
            return Err(format!("step {n} comes after the end"));
        }
        last = next_step(&timetable, &restriction, last.as_ref(), step)
            .map_err(|difference| format!("step {n}: {difference}"))?;
        is_over = last.is_none();
    }
    Ok(())
}

/// One step of a chain. Gives back the run that the next step follows, if there is one.
fn next_step(
    timetable: &Timetable,
    restriction: &Restriction,
    last: Option<&RunInfo>,
    step: &Value,
) -> Result<Option<RunInfo>, String> {
    let step = Record::new(step, &["now", "x", "error"])?;
    let answer = step.answer()?;
    let run = if let Answer::Found(run) = answer { optional_run(run)? } else { None };
    let found = timetable.next_run(last, restriction, step.time("now")?);
    answer.compare(found.map(|run| run.as_ref().map_or(Value::Null, shown)))?;
    Ok(run)
}

fn manual(record: &Record<'_>) -> Result<(), String> {
    let interval = timetable(record)?.manual_interval(record.time("run_after")?);
    let interval =
        interval.map(|DataInterval { start, end }| json!({"s": written(start), "e": written(end)}));
    record.answer()?.compare(interval)
}

fn backfill(record: &Record<'_>) -> Result<(), String> {
    let timetable = timetable(record)?;
    let (earliest, latest) = (record.time("earliest")?, record.time("latest")?);
    let now = record.optional_instant("now")?.unwrap_or(latest);
    let runs = timetable.runs_between(earliest, latest, now);
    let is_truncated = record.optional("truncated").is_some() && record.flag("truncated")?;
    // Beside runs, an error is what ended them.
    let error = record.error()?;
    if is_truncated && error.is_some() {
        return Err("the record has both truncated and error".to_owned());
    }
    match (record.optional("x"), error) {
        (Some(_), _) => backfilled(runs, record.list_or_none("x")?, is_truncated, error),
        (None, Some(error)) => {
            if runs.take(MAX_RUNS).any(|run| run.is_err()) {
                Ok(())
            } else {
                Err(format!("there is no error, expected {error}"))
            }
        }
        (None, None) => Err("the record has neither x nor error".to_owned()),
    }
}

/// That these are the runs of a backfill: all of them, or the first ones, or those before an error.
fn backfilled(
    runs: RunsBetween<'_>,
    expected: &[Value],
    is_truncated: bool,
    error: Option<&str>,
) -> Result<(), String> {
    if is_truncated && expected.is_empty() {
        return Err("the record has none of its runs".to_owned());
    }
    for run in expected {
        optional_run(run)?.ok_or("a run of x is null")?;
    }
    // One more than recorded shows whether the record is the beginning or the whole, and what ended it.
    let mut found = Vec::new();
    let mut ended = None;
    for run in runs.take(expected.len() + 1) {
        match run {
            Ok(run) => found.push(shown(&run)),
            Err(reason) => ended = Some(reason),
        }
    }
    let more = found.len() > expected.len();
    found.truncate(expected.len());
    if found != expected {
        return Err(format!("{}, expected {}", json!(found), json!(expected)));
    }
    if more != is_truncated {
        return Err(format!("there are {} runs than {}", if more { "more" } else { "no more" }, found.len()));
    }
    match (ended, error) {
        (Some(reason), None) => Err(format!("ended by {reason}")),
        (None, Some(error)) => Err(format!("expected to end with the error {error}")),
        _ => Ok(()),
    }
}

fn partition_date(record: &Record<'_>) -> Result<(), String> {
    let date = timetable(record)?.partition_date(record.text("key")?);
    let date = date.map(|date| date.map_or(Value::Null, |date| written(date).into()));
    record.answer()?.compare(date)
}

fn localize(record: &Record<'_>) -> Result<(), String> {
    let bound = timetable(record)?.localize_partition_bound(record.time("at")?);
    record.answer()?.compare(bound.map(|bound| written(bound).into()))
}

fn run_id(record: &Record<'_>) -> Result<(), String> {
    let run_type: RunType = record.text("run_type")?.parse().map_err(|error| format!("{error}"))?;
    let key = record.optional("partition_key").is_some_and(|key| !key.is_null());
    let key = if key { Some(record.text("partition_key")?) } else { None };
    let random = if record.optional("random").is_some() { bytes(record.list("random")?)? } else { [0; 8] };
    let id = timetable(record)?.run_id(run_type, record.time("run_after")?, key, random);
    record.answer()?.compare(id.map(Value::from))
}

fn bytes(values: &[Value]) -> Result<[u8; 8], String> {
    let bytes = values.iter().map(|value| value.as_u64().and_then(|byte| u8::try_from(byte).ok()));
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| "random is not eight bytes".to_owned())
}

fn describe(record: &Record<'_>) -> Result<(), String> {
    let facts = timetable(record)?.facts();
    let found = [
        ("summary", facts.summary.into()),
        ("description", facts.description.into()),
        ("type_name", facts.type_name.into()),
        ("periodic", facts.periodic.into()),
        ("can_be_scheduled", facts.can_be_scheduled.into()),
        ("partitioned", facts.partitioned.into()),
        ("active_runs_limit", json!(facts.active_runs_limit)),
        ("run_ordering", json!(facts.run_ordering)),
    ];
    for (key, found) in found {
        let expected = record.required(key)?;
        if found != *expected {
            return Err(format!("{key} is {found}, expected {expected}"));
        }
    }
    Ok(())
}

fn validate(record: &Record<'_>) -> Result<(), String> {
    let valid = timetable(record)?.validate(record.time("now")?);
    record.answer()?.compare(valid.map(|()| Value::Null))
}

fn timetable(record: &Record<'_>) -> Result<Timetable, String> {
    match Timetable::decode(&record.required("tt")?.to_string()) {
        // It answers nothing here, as if with an error.
        Ok(Timetable::Custom(custom)) => Err(format!("{} is no timetable of Airflow's", custom.class)),
        Ok(timetable) => Ok(timetable),
        Err(problems) => Err(format!("timetable: {problems}")),
    }
}

fn optional_run(value: &Value) -> Result<Option<RunInfo>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let run = Record::new(value, &["ra", "s", "e", "pd", "pk"])?;
    let data_interval = match (run.optional_instant("s")?, run.optional_instant("e")?) {
        (Some(start), Some(end)) => Some(DataInterval { start, end }),
        (None, None) => None,
        _ => return Err(format!("{value} has half an interval")),
    };
    Ok(Some(RunInfo {
        run_after: run.time("ra")?,
        data_interval,
        partition_date: run.optional_instant("pd")?,
        partition_key: run.optional_text("pk")?.map(str::to_owned),
    }))
}

fn shown(run: &RunInfo) -> Value {
    let mut shown = json!({"ra": written(run.run_after)});
    if let Some(interval) = run.data_interval {
        shown["s"] = written(interval.start).into();
        shown["e"] = written(interval.end).into();
    }
    if let Some(date) = run.partition_date {
        shown["pd"] = written(date).into();
    }
    if let Some(key) = &run.partition_key {
        shown["pk"] = key.clone().into();
    }
    shown
}

/// An instant as the vectors write it: microseconds in six digits, if there are any. No vector has more.
fn written(at: Timestamp) -> String {
    match at.subsec_nanosecond() {
        0 => format!("{at:.0}"),
        nanoseconds if nanoseconds % 1000 == 0 => format!("{at:.6}"),
        _ => format!("{at:.9}"),
    }
}
