//! Measures what `bench/model` also measures of official Airflow, on the same cases:
//! `{"crons": […], "timetables": […], "dag": path}`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ferroflow_model::dag::Dag;
use ferroflow_model::timetable::cron::Cron;
use ferroflow_model::timetable::{Restriction, Timetable};
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde_json::{Value, json};

use crate::memory;

/// How long a loop runs at least.
const LONG_ENOUGH: Duration = Duration::from_secs(1);

pub(crate) fn measure(cases: &Value) -> anyhow::Result<Value> {
    let crons = crons(&cases["crons"])?;
    let timetables = timetables(&cases["timetables"])?;
    let prepared: Vec<(Cron, DateTime)> =
        crons.iter().map(|(text, start)| Ok((Cron::parse(text)?, *start))).collect::<anyhow::Result<_>>()?;
    Ok(json!({
        "cron_parse_and_next": per_second(&crons, |(text, start)| Cron::parse(text).ok()?.next(*start)),
        "cron_next": per_second(&prepared, |(cron, start)| cron.next(*start)),
        "timetable_with_catchup": per_second(&timetables, |case| case.next(true)),
        "timetable_without_catchup": per_second(&timetables, |case| case.next(false)),
        "decode": decode(cases["dag"].as_str().context("no path of a DAG")?)?,
    }))
}

struct Case {
    timetable: Timetable,
    earliest: Timestamp,
    now: Timestamp,
}

impl Case {
    fn next(&self, catchup: bool) -> Option<Timestamp> {
        let restriction = Restriction { earliest: Some(self.earliest), latest: None, catchup };
        let run = self.timetable.next_run(None, &restriction, self.now);
        run.ok().flatten().map(|run| run.run_after)
    }
}

fn crons(cases: &Value) -> anyhow::Result<Vec<(String, DateTime)>> {
    let cases = cases.as_array().context("no crons")?;
    cases
        .iter()
        .map(|case| Ok((text(case, "expression")?.to_owned(), text(case, "start")?.parse()?)))
        .collect()
}

fn timetables(cases: &Value) -> anyhow::Result<Vec<Case>> {
    let cases = cases.as_array().context("no timetables")?;
    let case = |case: &Value| {
        Ok(Case {
            timetable: Timetable::decode(&case["timetable"].to_string())?,
            earliest: text(case, "earliest")?.parse()?,
            now: text(case, "now")?.parse()?,
        })
    };
    cases.iter().map(case).collect()
}

fn text<'c>(case: &'c Value, key: &str) -> anyhow::Result<&'c str> {
    case[key].as_str().with_context(|| format!("a case has no {key}"))
}

/// How many times a second something is answered, over and over all the cases.
#[expect(clippy::cast_precision_loss, reason = "a count of evaluations")]
fn per_second<C, A>(cases: &[C], ask: impl Fn(&C) -> A) -> f64 {
    let started = Instant::now();
    let mut asked = 0_u64;
    while started.elapsed() < LONG_ENOUGH {
        for case in cases {
            black_box(ask(black_box(case)));
        }
        asked += cases.len() as u64;
    }
    asked as f64 / started.elapsed().as_secs_f64()
}

/// The best time of several to decode a DAG, and what it holds and took in memory.
fn decode(path: &str) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let started = Instant::now();
        let dag = black_box(Dag::decode(black_box(&text))?);
        best = best.min(started.elapsed());
        // Throwing it away is not measured, here as in Python.
        drop(dag);
    }
    let before = memory::in_use();
    memory::forget_peak();
    let dag = Dag::decode(&text)?;
    let figures = json!({
        "seconds": best.as_secs_f64(),
        "held_bytes": memory::in_use() - before,
        "peak_bytes": memory::peak() - before,
        "tasks": dag.tasks().len(),
    });
    black_box(dag);
    Ok(figures)
}
