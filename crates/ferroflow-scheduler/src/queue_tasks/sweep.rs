//! Task instances that others made ready: a scheduler that is gone or works beside this one, a triggerer, a user.

use std::collections::HashSet;

use ferroflow_db::task_instance::queueing::{self, RunWithScheduled};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx};
use ferroflow_model::admission::DagLimits;
use ferroflow_telemetry::chain;
use jiff::Timestamp;

use super::memory::{Memory, Read};
use super::report::Swept;
use super::{TaskQueue, read};
use crate::{Context, Error};

/// Of about how many task instances the rows are read in one sweep.
const MAX_ROWS: i64 = 20_000;

impl TaskQueue {
    /// Finds those that wait and are not known, and forgets the runs in which none waits any more, those of paused DAGs
    /// among them. Rows are read only of runs in which more or fewer wait than are known, or a newer one.
    pub async fn sweep(&mut self, cx: &Context, now: Timestamp) -> Result<Swept, Error> {
        let runs = cx.db.read(|tx: &mut Tx| queueing::runs_with_scheduled(tx).scope_boxed()).await?;
        let (chosen, left) = self.compare(&runs, cx.settings.core.multi_team);
        let ids: Vec<i64> = chosen.iter().map(|run| run.dag_run_id).collect();
        let mut swept = Swept { runs: ids.len(), left, ..Swept::default() };
        if let Some(last) = ids.last() {
            let of_runs: &[i64] = &ids;
            let found = cx.db.read(|tx| read::of_runs(tx, cx, of_runs, now).scope_boxed()).await?;
            self.replace(of_runs, &found.candidates, now);
            self.swept_until = *last;
            swept.found = found.candidates.len();
            swept.set_aside = found.set_aside;
            for dag_id in found.lost {
                match fail(cx, &dag_id, now).await {
                    Ok(failed) => swept.lost.push((dag_id, failed)),
                    Err(error) if !error.is_about_rows() => return Err(error.into()),
                    Err(error) if error.is_busy() => {}
                    Err(error) => swept.set_aside.push((dag_id, chain(&error))),
                }
            }
        }
        self.locked().drop_idle_dags();
        Ok(swept)
    }

    /// Takes in what was read of some runs. One that is retried later waits on.
    fn replace(&self, dag_run_ids: &[i64], read: &[Read], now: Timestamp) {
        let mut memory = self.locked();
        memory.replace_runs(dag_run_ids, read);
        let put_off = read.iter().filter(|one| self.put_off.has_to_wait(&one.id, now));
        put_off.for_each(|one| memory.hold(&one.candidate.key));
    }

    /// Takes in what DAGs allow now, and chooses the runs that are read; how many others differ, too.
    fn compare<'r>(
        &self,
        runs: &'r [RunWithScheduled],
        multi_team: bool,
    ) -> (Vec<&'r RunWithScheduled>, usize) {
        let mut memory = self.locked();
        let alive: HashSet<i64> = runs.iter().map(|run| run.dag_run_id).collect();
        let gone: Vec<i64> = memory.runs().map(|(id, _)| id).filter(|id| !alive.contains(id)).collect();
        for id in gone {
            memory.remove_run(id);
        }
        for run in runs {
            let team = run.team_name.as_deref().filter(|_| multi_team).map(Into::into);
            let limits = DagLimits { max_active_tasks: run.max_active_tasks, is_paused: false, team };
            memory.set_dag(&run.dag_id, limits);
        }
        let different: Vec<&RunWithScheduled> = runs.iter().filter(|run| differs(&memory, run)).collect();
        drop(memory);
        // One that differs each time must not keep the others from their turn.
        let next = different.partition_point(|run| run.dag_run_id <= self.swept_until);
        let in_turn = different[next..].iter().chain(&different[..next]).copied();
        let mut rows = 0;
        let chosen: Vec<&RunWithScheduled> = in_turn
            .take_while(|run| {
                let is_within = rows < MAX_ROWS;
                rows += run.instances;
                is_within
            })
            .collect();
        let left = different.len() - chosen.len();
        (chosen, left)
    }
}

fn differs(memory: &Memory, run: &RunWithScheduled) -> bool {
    memory
        .run(run.dag_run_id)
        .is_none_or(|known| i64::try_from(known.keys.len()) != Ok(run.instances) || run.newest > known.newest)
}

/// A DAG whose limits can never be known: what waits of it fails, as in Airflow.
async fn fail(cx: &Context, dag_id: &str, now: Timestamp) -> Result<u64, DbError> {
    let failed =
        cx.db.transact(|tx: &mut Tx| queueing::fail_scheduled_of_dag(tx, dag_id, now).scope_boxed()).await?;
    tracing::warn!(
        dag_id,
        failed,
        "DAG is not serialized any more; its scheduled task instances have failed"
    );
    Ok(failed)
}
