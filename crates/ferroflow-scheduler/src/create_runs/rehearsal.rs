//! Whether the database takes the next run of a DAG, for who asks why it gets none.

use std::sync::Arc;

use ferroflow_config::Settings;
use ferroflow_db::{Tx, dag};
use ferroflow_model::runs::create::{self, Verdict};
use ferroflow_operations::dag_run::RunMaking;
use ferroflow_operations::dag_run::create::{PlannedDeadlines, create_many};
use jiff::Timestamp;

use super::facts::{Seen, Surroundings};
use super::plan::{Owner, info, next_after, plan};
use crate::Error;
use crate::run::{Definition, RunSettings};

/// Makes the run that is due by the schedule, if any is, in a transaction that is to be undone. What Python has a say about
/// is left out.
pub(crate) async fn make_next_run(
    tx: &mut Tx,
    (settings, run_settings): (&Settings, &RunSettings),
    dag_id: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(row) = dag::scheduling::lock_free(tx, &[dag_id]).await?.dags.pop() else { return Ok(()) };
    let definition = Arc::new(Definition::latest(tx, dag_id).await?);
    let dags = [Seen::new(row, &definition, now)];
    let around = Surroundings::load(tx, &dags).await?;
    let making = RunMaking::new(settings, run_settings.unixname.clone(), None)?;
    let deadlines = &PlannedDeadlines::default();
    for dag in &dags {
        let owner = Owner { row: &dag.row, definition: &definition, asked: None, deadlines };
        for decision in create::decide(&[dag.facts(&around)], now, usize::MAX) {
            let Verdict::Create(run) = &decision.verdict else { continue };
            let Ok(plan) = plan(run_settings, &making, &owner, run, now) else { continue };
            create_many(tx, vec![plan.run], now).await?;
            if let Ok(next) = next_after(definition.dag(), None, &info(run), now) {
                dag::scheduling::set_next_run(tx, &[dag_id], next.as_ref()).await?;
            }
        }
    }
    Ok(())
}
