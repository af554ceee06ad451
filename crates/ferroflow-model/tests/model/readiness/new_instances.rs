//! Where Airflow overlooks the instances that it has just made.

use ferroflow_model::readiness::{Decision, Facts, Pushed, Run, RunVerdict, WhenReady};
use ferroflow_model::state::TaskState;

use crate::readiness::sketch::{ByName as _, NOW, Sketch, items, result_of};

/// A group mapped over `s` has `a` before `b`, and `b` also waits for `c`, which is the last to end.
fn last_group(second: TaskState) -> (Run, Decision) {
    let sketch = Sketch::of("s; c; a < s; b < a, c").grouped(&["a", "b"], result_of("s"));
    let mut run = sketch.run();
    run.decide();
    run.set_pushed(run.task("s"), Pushed { length: Some(2), results: 0 });
    run.go("s", TaskState::Success);
    run.decide();
    run.go("a[0]", TaskState::Skipped);
    run.go("a[1]", second);
    run.go("c", TaskState::Success);
    let decision = run.decide();
    (run, decision)
}

#[test]
fn a_run_does_not_end_before_its_new_instances_have_run() {
    let (run, decision) = last_group(TaskState::Success);
    assert_eq!(
        (run.state_of("b[0]"), run.state_of("b[1]")),
        (Some(TaskState::Skipped), Some(TaskState::Scheduled))
    );
    assert_eq!(decision.run, RunVerdict::Running);
}

#[test]
fn a_run_with_new_instances_that_failed_has_not_succeeded() {
    let (run, decision) = last_group(TaskState::Failed);
    assert_eq!(run.state_of("b[1]"), Some(TaskState::UpstreamFailed));
    assert_eq!(decision.run, RunVerdict::TasksFailed);
}

#[test]
fn how_many_succeeded_matters_where_indexes_were_removed() {
    let sketch = Sketch::of("u1; u2; u3; u4; a; b < a, u1, u2, u3, u4").grouped(&["a", "b"], items(3));
    let mut run = sketch.run();
    run.decide();
    for task in ["u1", "u2", "u3"] {
        run.go(task, TaskState::Success);
    }
    run.go("a[2]", TaskState::Removed);
    run.decide();
    assert_eq!(run.state_of("b[2]"), None);
    run.go("u3", None);
    let instances: Vec<_> = run.instances().collect();
    let mut anew = Run::load(run.plan().clone(), Facts::default(), None, instances);
    let whole = anew.examine(NOW, WhenReady::Schedule);
    let stepwise = run.decide();
    assert_eq!(stepwise, whole);
    assert_eq!(run.state_of("b[2]"), Some(TaskState::Removed));
}
