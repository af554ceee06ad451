//! Measures what `bench/scheduling` also measures of official Airflow, on the same cases: a list of
//! `{"name": …, "dag": path, "instances": [[task, map index, state], …]}`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ferroflow_model::dag::{Dag, TaskIndex};
use ferroflow_model::readiness::{Action, Facts, Instance, InstanceRef, Plan, Run, WhenReady};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::{Value, json};

/// How long a loop runs at least.
const LONG_ENOUGH: Duration = Duration::from_secs(1);

const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

type Row = (String, i32, Option<TaskState>);

pub(crate) fn measure(cases: &Value) -> anyhow::Result<Value> {
    let cases = cases.as_array().context("no list of cases")?;
    cases.iter().map(measure_case).collect()
}

fn measure_case(case: &Value) -> anyhow::Result<Value> {
    let path = case["dag"].as_str().context("a case has no DAG")?;
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let plan = Arc::new(Plan::new(Arc::new(Dag::decode(&text)?)));
    let rows = rows(&case["instances"])?;
    let (changed, full) = full_examination(&plan, &rows);
    let (finished, mean, worst) = one_by_one(&plan, &rows);
    Ok(json!({
        "instances": rows.len(),
        "changed": changed,
        "seconds": full.as_secs_f64(),
        "finished": finished,
        "mean_seconds_after_one": mean.as_secs_f64(),
        "worst_seconds_after_one": worst.as_secs_f64(),
    }))
}

fn rows(instances: &Value) -> anyhow::Result<Vec<Row>> {
    let instances = instances.as_array().context("a case has no instances")?;
    let row = |row: &Value| {
        let task = row[0].as_str().context("an instance has no task")?;
        let index = row[1].as_i64().and_then(|index| i32::try_from(index).ok());
        let state = row[2].as_str().map(str::parse).transpose()?;
        Ok((task.to_owned(), index.context("an instance has no map index")?, state))
    };
    instances.iter().map(row).collect()
}

/// From rows, as the database gives them, to everything that is to be done about them: the best time, and how many
/// instances go to another state.
fn full_examination(plan: &Arc<Plan>, rows: &[Row]) -> (usize, Duration) {
    let (mut best, mut changed) = (Duration::MAX, 0);
    let begin = Instant::now();
    while begin.elapsed() < LONG_ENOUGH {
        let started = Instant::now();
        let mut run = loaded(plan, black_box(rows));
        let decision = black_box(run.examine(NOW, WhenReady::Schedule));
        best = best.min(started.elapsed());
        changed = decision.actions.len();
    }
    (changed, best)
}

/// The same run to its end, one finished instance after the other: how many, the mean time of an examination after
/// one, and the longest.
fn one_by_one(plan: &Arc<Plan>, rows: &[Row]) -> (u32, Duration, Duration) {
    let mut run = loaded(plan, rows);
    let mut ready: Vec<InstanceRef> = scheduled(&run.examine(NOW, WhenReady::Schedule).actions);
    let (mut finished, mut total, mut worst) = (0, Duration::ZERO, Duration::ZERO);
    while let Some(InstanceRef { task, map_index }) = ready.pop() {
        let started = Instant::now();
        run.set_state(task, map_index, Some(TaskState::Success), None);
        let decision = black_box(run.examine(NOW, WhenReady::Schedule));
        let elapsed = started.elapsed();
        finished += 1;
        total += elapsed;
        worst = worst.max(elapsed);
        ready.extend(scheduled(&decision.actions));
    }
    (finished, total / finished.max(1), worst)
}

fn loaded(plan: &Arc<Plan>, rows: &[Row]) -> Run {
    let find = |task: &str| -> Option<TaskIndex> { plan.dag().find(task) };
    let instances = rows.iter().filter_map(|(task, map_index, state)| {
        Some(Instance { task: find(task)?, map_index: *map_index, state: *state, due: None })
    });
    Run::load(Arc::clone(plan), Facts::default(), None, instances)
}

fn scheduled(actions: &[Action]) -> Vec<InstanceRef> {
    let scheduled = |action: &Action| match action {
        Action::Schedule { instance, .. } => Some(*instance),
        _ => None,
    };
    actions.iter().filter_map(scheduled).collect()
}
