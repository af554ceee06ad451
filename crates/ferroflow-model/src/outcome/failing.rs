//! DAGs whose runs keep failing.

use crate::state::RunState;

/// Whether a DAG is to be paused: its newest runs, as many as `limit` says, have all failed. Without a limit it never
/// is.
pub fn is_failing(newest: &[RunState], limit: usize) -> bool {
    limit > 0 && newest.len() >= limit && newest.iter().take(limit).all(|state| *state == RunState::Failed)
}

#[test]
fn a_dag_is_failing_when_as_many_of_its_newest_runs_failed() {
    let (failed, success) = (RunState::Failed, RunState::Success);
    assert!(is_failing(&[failed, failed], 2));
    assert!(is_failing(&[failed, failed, success], 2));
    assert!(!is_failing(&[failed], 2));
    assert!(!is_failing(&[failed, success], 2));
    assert!(!is_failing(&[RunState::Running, failed, failed], 2));
    assert!(!is_failing(&[failed], 0));
}
