//! Expressions and what croniter makes of them.

use ferroflow_model::timetable::cron::Cron;
use jiff::civil::DateTime;
use serde_json::Value;

use super::text;

/// Whether we accept what croniter accepts and find the times that it finds.
pub(super) fn check(record: &Value) -> Result<(), String> {
    let expression = text(record, "expr")?;
    let cron = Cron::parse(expression);
    let cron = match (cron, record.get("error")) {
        (Err(_), Some(_)) => return Ok(()),
        (Ok(_), Some(error)) => return Err(format!("{expression:?} is accepted; croniter: {error}")),
        (Err(error), None) => return Err(format!("{expression:?} is refused: {error}")),
        (Ok(cron), None) => cron,
    };
    let every_hour = record["expanded"][1] == serde_json::json!(["*"]);
    if cron.is_every_hour() != every_hour {
        return Err(format!("every hour: {}, expected {every_hour}", cron.is_every_hour()));
    }
    for run in record["runs"].as_array().into_iter().flatten() {
        if record["random"] == true {
            check_drawn(&cron, run)?;
        } else {
            check_times(&run["next"], start(run)?, |at| cron.next(at))?;
            check_times(&run["prev"], start(run)?, |at| cron.previous(at))?;
        }
    }
    Ok(())
}

/// That a chain of times is the recorded one. It ends with an error where there is no further time.
pub(super) fn check_times(
    expected: &Value,
    start: DateTime,
    step: impl Fn(DateTime) -> Option<DateTime>,
) -> Result<(), String> {
    let mut at = start;
    for expected in expected.as_array().into_iter().flatten() {
        let found = step(at);
        let expected = match expected.as_str() {
            Some(time) => Some(time.parse::<DateTime>().map_err(|error| error.to_string())?),
            None => None,
        };
        if found != expected {
            return Err(format!("from {at}: {found:?}, expected {expected:?}"));
        }
        let Some(found) = found else { return Ok(()) };
        at = found;
    }
    Ok(())
}

/// croniter draws `r` anew each time, so the recorded times say nothing. Ours are as many, and stay.
fn check_drawn(cron: &Cron, run: &Value) -> Result<(), String> {
    let start = start(run)?;
    let first = cron.next(start).ok_or("a drawn time never comes")?;
    let second = cron.next(first).ok_or("a drawn time comes once")?;
    if cron.previous(second) == Some(first) && first > start {
        Ok(())
    } else {
        Err(format!("{first} and {second} do not agree"))
    }
}

fn start(run: &Value) -> Result<DateTime, String> {
    text(run, "start")?.parse().map_err(|error| format!("start: {error}"))
}
