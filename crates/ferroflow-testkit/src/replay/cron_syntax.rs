//! Expressions and what croniter makes of them.

use ferroflow_model::timetable::cron::Cron;
use jiff::civil::DateTime;
use serde_json::{Value, json};

use super::record::{Record, time};

/// How many times the list of expressions has in each direction, where there are so many.
const LISTED_TIMES: usize = 5;

/// The kind `cron`: the times of an expression that Airflow takes.
pub(super) fn cron(record: &Record<'_>) -> Result<(), String> {
    let cron = Cron::parse(record.text("expr")?).map_err(|error| error.to_string())?;
    check_run(record, &cron)
}

/// The kind `syntax`: whether we accept what croniter accepts, and find the times that it finds. Of what it
/// expands to only the hours are recorded.
pub(super) fn syntax(record: &Record<'_>) -> Result<(), String> {
    let Some(cron) = accepted(record, &["expanded", "runs"])? else { return Ok(()) };
    let expanded = columns(record)?;
    if expanded.len() != 2 || !expanded[0].is_empty() {
        return Err("expanded is not an empty column and the hours".to_owned());
    }
    check_hours(&cron, expanded[1])?;
    for run in record.list("runs")? {
        check_run(&Record::new(run, &["start", "next", "prev", "every_hour"])?, &cron)?;
    }
    Ok(())
}

/// A record of the list of expressions: the same, with all that croniter expands the expression to.
pub(super) fn listed(value: &Value) -> Result<(), String> {
    let record = Record::new(value, &["expr", "error", "expanded", "nth", "random", "runs"])?;
    let Some(cron) = accepted(&record, &["expanded", "nth", "random", "runs"])? else { return Ok(()) };
    let expanded = columns(&record)?;
    if !(5..=7).contains(&expanded.len()) || (expanded.len() > 5) != cron.has_seconds() {
        return Err(format!("seconds: {}, of {} columns", cron.has_seconds(), expanded.len()));
    }
    check_hours(&cron, expanded[1])?;
    // Which of the weekdays of a month are meant shows in the times.
    let nth = record.required("nth")?;
    if !nth.as_object().is_some_and(|nth| nth.values().all(Value::is_array)) {
        return Err(format!("nth is {nth}, which is not an object of lists"));
    }
    let is_drawn = record.flag("random")?;
    if is_drawn && !has_drawn_column(record.text("expr")?) {
        return Err("random is true, but no column is drawn".to_owned());
    }
    for run in record.list("runs")? {
        check_listed_run(&Record::new(run, &["start", "next", "prev"])?, &cron, is_drawn)?;
    }
    Ok(())
}

/// The expression of a record, or nothing when croniter and we refuse it. What only an expression that is
/// accepted has must not stand beside an error.
fn accepted(record: &Record<'_>, answers: &[&str]) -> Result<Option<Cron>, String> {
    let expression = record.text("expr")?;
    let Some(error) = record.error()? else {
        let cron = Cron::parse(expression).map_err(|error| format!("{expression:?} is refused: {error}"))?;
        return Ok(Some(cron));
    };
    if let Some(answer) = answers.iter().find(|answer| record.optional(answer).is_some()) {
        return Err(format!("the record has both {answer} and error"));
    }
    match Cron::parse(expression) {
        Ok(_) => Err(format!("{expression:?} is accepted; croniter: {error}")),
        Err(_) => Ok(None),
    }
}

/// The columns that an expression is expanded to.
fn columns<'r>(record: &Record<'r>) -> Result<Vec<&'r [Value]>, String> {
    let is_item = |item: &Value| item.is_u64() || item.is_string();
    let columns = record.list("expanded")?.iter().map(|column| {
        let items = column.as_array().filter(|items| items.iter().all(is_item));
        items.map(Vec::as_slice).ok_or_else(|| format!("{column} is not a column of expanded"))
    });
    columns.collect()
}

fn check_hours(cron: &Cron, hours: &[Value]) -> Result<(), String> {
    if hours.is_empty() {
        return Err("the expanded column of hours is empty".to_owned());
    }
    check_every_hour(cron, hours == [json!("*")])
}

fn check_every_hour(cron: &Cron, expected: bool) -> Result<(), String> {
    let found = cron.is_every_hour();
    if found == expected { Ok(()) } else { Err(format!("every hour: {found}, expected {expected}")) }
}

/// croniter draws the columns that begin with an `r`.
fn has_drawn_column(expression: &str) -> bool {
    expression.to_lowercase().split_whitespace().any(|column| column.starts_with('r'))
}

/// Times from a start in both directions.
fn check_run(run: &Record<'_>, cron: &Cron) -> Result<(), String> {
    let start = run.time("start")?;
    let (next, previous) = (Chain::recorded(run, "next")?, Chain::recorded(run, "prev")?);
    for (key, chain, other) in [("next", &next, &previous), ("prev", &previous, &next)] {
        if !chain.is_over && chain.len() < other.len() {
            return Err(format!("{key} has {} times and no error, beside {}", chain.len(), other.len()));
        }
    }
    next.compare(start, |at| cron.next(at))?;
    previous.compare(start, |at| cron.previous(at))?;
    check_every_hour(cron, run.flag("every_hour")?)
}

fn check_listed_run(run: &Record<'_>, cron: &Cron, is_drawn: bool) -> Result<(), String> {
    let start = run.time("start")?;
    let (next, previous) = (Chain::listed(run, "next")?, Chain::listed(run, "prev")?);
    if is_drawn {
        return check_drawn(cron, start);
    }
    next.compare(start, |at| cron.next(at))?;
    previous.compare(start, |at| cron.previous(at))
}

/// croniter draws `r` anew each time, so the recorded times say nothing. Ours go on, and stay.
fn check_drawn(cron: &Cron, start: DateTime) -> Result<(), String> {
    let first = cron.next(start).ok_or("a drawn time never comes")?;
    let second = cron.next(first).ok_or("a drawn time comes once")?;
    if cron.previous(second) == Some(first) && first > start {
        Ok(())
    } else {
        Err(format!("{first} and {second} do not agree"))
    }
}

/// Times, each found from the one before.
struct Chain {
    times: Vec<DateTime>,
    /// Whether there is no further one.
    is_over: bool,
}

impl Chain {
    /// A list of times. An error at its end stands for no further one.
    fn recorded(run: &Record<'_>, key: &str) -> Result<Self, String> {
        let entries = run.list(key)?;
        let (times, is_over) = match entries.split_last() {
            Some((last, before)) if last.is_object() => {
                let error = Record::new(last, &["error"])?.error()?;
                error.ok_or_else(|| format!("{key} ends with an object without error"))?;
                (before, true)
            }
            _ => (entries, false),
        };
        Ok(Self { times: civil_times(key, times)?, is_over })
    }

    /// A list of times, which is shorter where there are no more, or the error when there are none.
    fn listed(run: &Record<'_>, key: &str) -> Result<Self, String> {
        if run.required(key)?.as_str().is_some_and(|error| !error.is_empty()) {
            return Ok(Self { times: Vec::new(), is_over: true });
        }
        let times = civil_times(key, run.list(key)?)?;
        Ok(Self { is_over: times.len() < LISTED_TIMES, times })
    }

    /// How many entries were recorded.
    fn len(&self) -> usize {
        self.times.len() + usize::from(self.is_over)
    }

    fn compare(&self, start: DateTime, step: impl Fn(DateTime) -> Option<DateTime>) -> Result<(), String> {
        let mut at = start;
        let expected = self.times.iter().copied().map(Some).chain(self.is_over.then_some(None));
        for expected in expected {
            let found = step(at);
            if found != expected {
                return Err(format!("from {at}: {found:?}, expected {expected:?}"));
            }
            at = found.unwrap_or(at);
        }
        Ok(())
    }
}

fn civil_times(key: &str, list: &[Value]) -> Result<Vec<DateTime>, String> {
    list.iter().map(|value| time(value).map_err(|problem| format!("{key}: {problem}"))).collect()
}
