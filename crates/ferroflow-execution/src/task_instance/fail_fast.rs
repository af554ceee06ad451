//! A task of a DAG that fails fast has failed.

use ferroflow_db::task_instance::execution::Facts;
use ferroflow_db::task_instance::siblings::{self, Sibling};
use ferroflow_db::{Error, Tx, audit_log};
use ferroflow_model::dag::{Dag, Flag};
use ferroflow_model::outcome::fail_fast::{FailFast, Other, fail_fast};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;

use super::attempt::{about, dag_of};

/// Stops what is left of the run, if the DAG wants that.
pub(super) async fn stop_the_rest(tx: &mut Tx, facts: &Facts, now: Timestamp) -> Result<(), Error> {
    if !facts.fail_fast {
        return Ok(());
    }
    let Some(dag) = dag_of(tx, facts).await? else { return Ok(()) };
    for sibling in siblings::of_run(tx, &facts.key.dag_id, &facts.key.run_id).await? {
        let (event, state) = match fail_fast(other(&dag, facts, &sibling)) {
            FailFast::Left(_) => continue,
            FailFast::Failed => ("fail task", TaskState::Failed),
            FailFast::Skipped => ("skip task", TaskState::Skipped),
        };
        if siblings::end(tx, &sibling, state, now).await? {
            let mut entry = about(facts, event, now);
            entry.extra = Some(format!("{} failed, and the DAG has fail_fast", facts.key.task_id));
            entry.task_id = Some(sibling.task_id);
            entry.map_index = Some(sibling.map_index);
            entry.try_number = Some(sibling.try_number);
            audit_log::insert(tx, &entry).await?;
        }
    }
    Ok(())
}

fn other(dag: &Dag, facts: &Facts, sibling: &Sibling) -> Other {
    let task = dag.find(&sibling.task_id).map(|index| &dag.tasks()[index.position()]);
    Other {
        state: sibling.state,
        is_of_same_task: sibling.task_id == facts.key.task_id,
        is_teardown: task.map(|task| task.is(Flag::IsTeardown)),
    }
}
