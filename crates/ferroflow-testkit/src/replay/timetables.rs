//! Timetables and what Airflow's classes answered.

use ferroflow_model::state::RunType;
use ferroflow_model::timetable::cron::Cron;
use ferroflow_model::timetable::{DataInterval, NoRun, Restriction, RunInfo, Timetable};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{cron_syntax, text};

/// Asks what one record asks and compares the answers.
pub(super) fn check(kind: &str, record: &Value) -> Result<(), String> {
    match kind {
        "next" => next(record),
        "manual" => manual(record),
        "backfill" => backfill(record),
        "partition_date" => partition_date(record),
        "localize" => localize(record),
        "cron" => cron(record),
        "syntax" => cron_syntax::check(record),
        "run_id" => run_id(record),
        "describe" => describe(record),
        "validate" => validate(record),
        _ => Err(format!("there is no kind of record called {kind}")),
    }
}

fn next(record: &Value) -> Result<(), String> {
    let timetable = timetable(record)?;
    let bounds = &record["restriction"];
    let restriction = Restriction {
        earliest: optional_instant(&bounds["earliest"])?,
        latest: optional_instant(&bounds["latest"])?,
        catchup: bounds["catchup"] == true,
    };
    let mut last = run(&record["last"])?;
    for (n, step) in record["steps"].as_array().into_iter().flatten().enumerate() {
        let found = timetable.next_run(last.as_ref(), &restriction, instant(&step["now"])?);
        let found = found.map(|run| run.as_ref().map_or(Value::Null, shown));
        compare(found, step).map_err(|difference| format!("step {n}: {difference}"))?;
        last = run(&step["x"])?;
    }
    Ok(())
}

fn manual(record: &Value) -> Result<(), String> {
    let interval = timetable(record)?.manual_interval(instant(&record["run_after"])?);
    compare(
        interval.map(|DataInterval { start, end }| json!({"s": written(start), "e": written(end)})),
        record,
    )
}

fn backfill(record: &Value) -> Result<(), String> {
    let timetable = timetable(record)?;
    let (earliest, latest) = (instant(&record["earliest"])?, instant(&record["latest"])?);
    let now = optional_instant(&record["now"])?.unwrap_or(latest);
    let expected = record["x"].as_array().map_or(0, Vec::len);
    // One more than recorded shows whether the record is the beginning or the whole, and what ended it.
    let mut found = Vec::new();
    let mut ended = None;
    for run in timetable.runs_between(earliest, latest, now).take(expected + 1) {
        match run {
            Ok(run) => found.push(shown(&run)),
            Err(reason) => ended = Some(reason),
        }
    }
    let more = found.len() > expected;
    found.truncate(expected);
    if more != (record["truncated"] == true) {
        return Err(format!("there are {} runs than {expected}", if more { "more" } else { "no more" }));
    }
    if let Some(runs) = record.get("x").filter(|runs| **runs != Value::Array(found.clone())) {
        return Err(format!("{}, expected {runs}", Value::Array(found)));
    }
    match (ended, record.get("error")) {
        (Some(reason), None) => Err(format!("ended by {reason}")),
        (None, Some(error)) => Err(format!("expected to end with the error {error}")),
        _ => Ok(()),
    }
}

fn partition_date(record: &Value) -> Result<(), String> {
    let date = timetable(record)?.partition_date(text(record, "key")?);
    compare(date.map(|date| date.map_or(Value::Null, |date| written(date).into())), record)
}

fn localize(record: &Value) -> Result<(), String> {
    let bound = timetable(record)?.localize_partition_bound(instant(&record["at"])?);
    compare(bound.map(|bound| written(bound).into()), record)
}

fn cron(record: &Value) -> Result<(), String> {
    let cron = Cron::parse(text(record, "expr")?).map_err(|error| error.to_string())?;
    let start = text(record, "start")?.parse().map_err(|error| format!("start: {error}"))?;
    cron_syntax::check_times(&record["next"], start, |at| cron.next(at))?;
    cron_syntax::check_times(&record["prev"], start, |at| cron.previous(at))?;
    if record["every_hour"] == cron.is_every_hour() {
        Ok(())
    } else {
        Err(format!("every hour: {}", cron.is_every_hour()))
    }
}

fn run_id(record: &Value) -> Result<(), String> {
    let run_type: RunType = text(record, "run_type")?.parse().map_err(|error| format!("{error}"))?;
    let run_after = instant(&record["run_after"])?;
    let mut random = [0; 8];
    for (byte, recorded) in random.iter_mut().zip(record["random"].as_array().into_iter().flatten()) {
        *byte = recorded.as_u64().and_then(|byte| u8::try_from(byte).ok()).ok_or("random is not of bytes")?;
    }
    let id = timetable(record)?.run_id(run_type, run_after, record["partition_key"].as_str(), random);
    compare(id.map(Value::from), record)
}

fn describe(record: &Value) -> Result<(), String> {
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
        let expected = &record[key];
        if found != *expected {
            return Err(format!("{key} is {found}, expected {expected}"));
        }
    }
    Ok(())
}

fn validate(record: &Value) -> Result<(), String> {
    match (timetable(record)?.validate(instant(&record["now"])?), record.get("error")) {
        (Ok(()), None) | (Err(_), Some(_)) => Ok(()),
        (Ok(()), Some(error)) => Err(format!("is valid, expected the error {error}")),
        (Err(reason), None) => Err(format!("is refused: {reason}")),
    }
}

/// Compares an answer with the record's `x`, or a refusal with its `error`.
fn compare(found: Result<Value, NoRun>, record: &Value) -> Result<(), String> {
    match (found, record.get("error")) {
        (Err(_), Some(_)) => Ok(()),
        (Err(reason), None) => Err(format!("no answer ({reason}), expected {}", record["x"])),
        (Ok(found), Some(error)) => Err(format!("{found}, expected the error {error}")),
        (Ok(found), None) if found == record["x"] => Ok(()),
        (Ok(found), None) => Err(format!("{found}, expected {}", record["x"])),
    }
}

fn timetable(record: &Value) -> Result<Timetable, String> {
    Timetable::decode(&record["tt"].to_string()).map_err(|problems| format!("timetable: {problems}"))
}

fn run(value: &Value) -> Result<Option<RunInfo>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let data_interval = match (optional_instant(&value["s"])?, optional_instant(&value["e"])?) {
        (Some(start), Some(end)) => Some(DataInterval { start, end }),
        _ => None,
    };
    Ok(Some(RunInfo {
        run_after: instant(&value["ra"])?,
        data_interval,
        partition_date: optional_instant(&value["pd"])?,
        partition_key: value["pk"].as_str().map(str::to_owned),
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

/// An instant as the vectors write it: microseconds in six digits, if there are any.
fn written(at: Timestamp) -> String {
    if at.subsec_nanosecond() == 0 { format!("{at:.0}") } else { format!("{at:.6}") }
}

fn instant(value: &Value) -> Result<Timestamp, String> {
    let text = value.as_str().ok_or_else(|| format!("{value} is not an instant"))?;
    text.parse().map_err(|error| format!("{text}: {error}"))
}

fn optional_instant(value: &Value) -> Result<Option<Timestamp>, String> {
    if value.is_null() { Ok(None) } else { instant(value).map(Some) }
}
