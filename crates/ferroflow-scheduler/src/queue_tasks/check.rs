//! Whether those that are admitted are in the database as they are in memory.

use std::collections::HashMap;
use std::sync::Arc;

use ferroflow_db::dag_run::lookup::RunWithDag;
use ferroflow_db::task_instance::TaskInstance;
use ferroflow_model::admission::{Admitted, DagLimits};
use ferroflow_model::state::{RunState, TaskState};
use uuid::Uuid;

use super::memory::{Memory, WaitingRow};
use super::report::{LeftOut, WhyLeftOut};
use super::section::Granted;

/// What was read of those that are admitted, under their locks.
pub(super) struct Rows {
    pub(super) instances: HashMap<Uuid, TaskInstance>,
    pub(super) runs: HashMap<i64, Arc<RunWithDag>>,
    pub(super) multi_team: bool,
}

/// Those that can be queued, and those that are left out. Leaving one out cannot exceed a limit.
pub(super) fn check(
    admitted: &[(Admitted, WaitingRow)],
    mut rows: Rows,
    memory: &Memory,
) -> (Vec<Granted>, Vec<LeftOut>) {
    let (mut granted, mut left_out) = (Vec::new(), Vec::new());
    for (admitted, waiting_row) in admitted {
        let instance = rows.instances.remove(&waiting_row.id);
        let run = rows.runs.get(&waiting_row.dag_run_id);
        let known = memory.limits.dags.get(&admitted.key.dag_id);
        match check_one(instance, run, waiting_row, known, rows.multi_team) {
            Ok((row, run)) => granted.push(Granted { admitted: admitted.clone(), row, run }),
            Err(why) => left_out.push(LeftOut { key: admitted.key.clone(), id: waiting_row.id, why }),
        }
    }
    (granted, left_out)
}

fn check_one(
    row: Option<TaskInstance>,
    run: Option<&Arc<RunWithDag>>,
    waiting_row: &WaitingRow,
    known: Option<&DagLimits>,
    multi_team: bool,
) -> Result<(TaskInstance, Arc<RunWithDag>), WhyLeftOut> {
    let row = row.ok_or(WhyLeftOut::Held)?;
    if row.state != Some(TaskState::Scheduled) {
        return Err(WhyLeftOut::NotScheduled(row.state));
    }
    let run = run.ok_or(WhyLeftOut::RunGone)?;
    if run.run.state != RunState::Running {
        return Err(WhyLeftOut::RunNotRunning(run.run.state));
    }
    if run.is_paused {
        return Err(WhyLeftOut::DagPaused);
    }
    if !is_same(waiting_row, &row) {
        return Err(WhyLeftOut::RowChanged);
    }
    let limits = dag_limits(run, multi_team);
    if known != Some(&limits) {
        return Err(WhyLeftOut::DagChanged(limits));
    }
    Ok((row, Arc::clone(run)))
}

/// Whether a row takes from the limits what was counted for it.
fn is_same(known: &WaitingRow, row: &TaskInstance) -> bool {
    *known.pool == *row.pool
        && known.pool_slots == row.pool_slots
        && known.executor.as_deref() == row.executor.as_deref()
}

fn dag_limits(run: &RunWithDag, multi_team: bool) -> DagLimits {
    DagLimits {
        max_active_tasks: run.max_active_tasks,
        is_paused: run.is_paused,
        team: run.team_name.as_deref().filter(|_| multi_team).map(Arc::from),
    }
}
