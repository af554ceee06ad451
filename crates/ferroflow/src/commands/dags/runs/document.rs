//! The pictures for programs.

use ferroflow_db::dag_run::history::PastRun;
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::gantt::Chart;
use super::grid::{Grid, Row};

/// Runs, and for each task a map of states and counts per run.
pub(super) fn of_grid(dag_id: &str, grid: &Grid) -> Value {
    let row = |row: &Row| {
        let states = row.counts.iter().map(|counts| {
            let name = |state: Option<TaskState>| state.map_or("none", TaskState::as_str).to_owned();
            let entries = counts.iter().map(|(state, total)| (name(*state), json!(total)));
            Value::Object(entries.collect::<Map<String, Value>>())
        });
        json!({
            "task_id": row.line.task_id,
            "label": row.line.label,
            "depth": row.line.depth,
            "states": states.collect::<Vec<_>>(),
        })
    };
    json!({
        "dag_id": dag_id,
        "runs": grid.runs.iter().map(of_run).collect::<Vec<_>>(),
        "tasks": grid.rows.iter().filter(|row| row.line.task_id.is_some()).map(row).collect::<Vec<_>>(),
    })
}

/// A run, and every try of its task instances.
pub(super) fn of_chart(dag_id: &str, run: &PastRun, chart: &Chart<'_>) -> Value {
    let mut tries = Vec::new();
    for bar in &chart.bars {
        for one in &bar.tries {
            tries.push(json!({
                "task_id": one.task_id,
                "map_index": one.map_index,
                "try_number": one.try_number,
                "state": one.state.map(TaskState::as_str),
                "queued": time(one.queued),
                "start": time(one.start),
                "end": time(one.end),
                "is_on_longest_path": bar.is_on_longest_path,
            }));
        }
    }
    json!({ "dag_id": dag_id, "run": of_run(run), "tries": tries })
}

fn of_run(run: &PastRun) -> Value {
    json!({
        "run_id": run.run_id,
        "state": run.state.as_str(),
        "run_after": time(Some(run.run_after)),
        "start_date": time(run.start),
        "end_date": time(run.end),
    })
}

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}
