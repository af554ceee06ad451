//! What became of the tasks of a run.

use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::run::ActiveRun;

use super::terminal::duration;
use crate::output::{Cell, Records};

/// A row for each task instance.
pub(crate) fn summary(run: &ActiveRun) -> Records {
    let row = |one: ferroflow_scheduler::run::SeenInstance| {
        let map_index =
            if one.key.map_index == NOT_MAPPED { String::new() } else { one.key.map_index.to_string() };
        let cells = [
            one.key.task_id.clone(),
            map_index,
            one.state.map_or("none", TaskState::as_str).to_owned(),
            one.try_number.to_string(),
            duration(&one).unwrap_or_default(),
        ];
        cells.map(Cell::Text).to_vec()
    };
    let rows: Vec<Vec<Cell>> = run.instances().map(row).collect();
    Records::new(vec!["task_id", "map_index", "state", "tries", "duration"], rows).without_empty_columns()
}
