//! The steps of a try, what moves it on when nobody has heard of it, and what remains of it.

use ferroflow_db::encoding::executor_config::ExecutorConfig;
use ferroflow_db::hitl_detail::{self, Question, answer};
use ferroflow_db::task_instance::execution::{self, Continuation, End, Place};
use ferroflow_db::task_instance::mutation::{self, MutableFields};
use ferroflow_db::task_instance::{
    self, TaskInstance, clear, heartbeat, history, orphans, overdue, scheduling, siblings, version_change,
};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, audit_log, dag_run, dag_version, job};
use ferroflow_model::id;
use ferroflow_model::state::{JobState, TaskState};
use ferroflow_testkit::rows::add_dag;
use jiff::{Timestamp, ToSpan as _};
use uuid::Uuid;

use super::{add, key, running, stored, within};
use crate::conformance::NOW;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { lived(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { suspended(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { lost(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { overtaken(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { asked(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { cleared(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { given_a_version(tx).await }.scope_boxed()).await;
}

fn end() -> End {
    End { end_date: NOW, duration: Some(0.1) }
}

/// A task instance of the run of these tests in a state.
async fn in_state(tx: &mut Tx, task: &str, state: TaskState) -> Result<TaskInstance, Error> {
    add(tx, key("lives", "run", task), |row| {
        row.state = Some(state);
        (row.try_number, row.start_date) = (1, Some(NOW));
        (row.hostname, row.pid) = (Some("host".to_owned()), Some(7));
    })
    .await
}

async fn lived(tx: &mut Tx) -> Result<(), Error> {
    add_dag(tx, "lives").await?;
    running(tx, "lives", "run", 0).await?;
    let place = Place { hostname: "host", unixname: "user", pid: 7 };
    let (queued, runs, retry) = (TaskState::Queued, TaskState::Running, TaskState::UpForRetry);
    let id = in_state(tx, "finishes", queued).await?.id;
    assert!(execution::enter_running(tx, id, queued, place, None, NOW).await?);
    assert!(execution::set_rendered_map_index(tx, id, "shown", NOW).await?);
    assert!(execution::finish(tx, id, (runs, TaskState::Success), end(), None, NOW).await?);
    let id = in_state(tx, "fails", runs).await?.id;
    assert!(execution::fail(tx, id, runs, end(), NOW).await?);
    let id = in_state(tx, "restarts", runs).await?.id;
    assert!(execution::restart(tx, id, runs, 3, NOW).await?);
    let id = in_state(tx, "retries", runs).await?.id;
    assert!(execution::retry(tx, id, runs, end(), None, (Some(1.0), Some("why")), NOW).await?);
    assert!(history::archive(tx, id).await?);
    assert_eq!(heartbeat::statuses(tx, &[id]).await?.len(), 2, "it is archived, and still there");
    assert!(execution::renew(tx, id, id::new_v7(NOW, rand::random()), NOW).await?);
    assert_eq!(dag_run::history::tries(tx, "lives", "run").await?.len(), 4);
    let reschedule = in_state(tx, "reschedules", runs).await?.id;
    let to = (runs, TaskState::UpForReschedule);
    assert!(execution::end_try(tx, reschedule, to, end(), NOW).await?);
    assert_eq!(retry.as_str(), "up_for_retry");
    Ok(())
}

async fn suspended(tx: &mut Tx) -> Result<(), Error> {
    let kwargs = stored!({});
    let on = Continuation { method: "resume", kwargs: &kwargs };
    let (runs, deferred) = (TaskState::Running, TaskState::Deferred);
    let id = in_state(tx, "defers", runs).await?.id;
    assert!(execution::defer(tx, id, (runs, deferred), None, on, Some(NOW), NOW).await?);
    let late = NOW + 1.minute();
    assert_eq!(overdue::lock_waiting(tx, deferred, late, Uuid::nil(), 10).await?.found.len(), 1);
    assert_eq!(overdue::resume_timed_out(tx, &[id], deferred, on, NOW).await?, 1);
    let id = in_state(tx, "resumes", deferred).await?.id;
    assert!(execution::resume(tx, id, deferred, on, NOW).await?);
    Ok(())
}

async fn lost(tx: &mut Tx) -> Result<(), Error> {
    let new = job::NewJob {
        job_type: "SchedulerJob".to_owned(),
        hostname: "host".to_owned(),
        unixname: "user".to_owned(),
        executor_class: None,
    };
    let (gone, lives) = (job::insert(tx, &new, NOW).await?, job::insert(tx, &new, NOW).await?);
    job::finish(tx, gone, JobState::Failed, NOW).await?;
    let of = |row: &mut TaskInstance, state, job_id| {
        (row.state, row.queued_by_job_id, row.queued_dttm) = (Some(state), Some(job_id), Some(NOW));
        row.last_heartbeat_at = Some(NOW);
    };
    let running = |row: &mut TaskInstance| of(row, TaskState::Running, gone);
    let adopted = add(tx, key("lives", "run", "adopted"), running).await?;
    let reset = add(tx, key("lives", "run", "reset"), running).await?;
    assert_eq!(orphans::find(tx, Uuid::nil(), 10).await?.found.len(), 2);
    let locked = orphans::lock(tx, &[adopted.id, reset.id]).await?;
    let orphan = locked.iter().find(|one| one.id == adopted.id).unwrap();
    assert!(orphans::adopt(tx, orphan, lives, NOW).await?);
    let anew = id::new_v7(NOW, rand::random());
    assert!(orphans::reset(tx, &reset, Some(lives), anew, NOW).await?);
    let late = NOW + 1.minute();
    assert_eq!(overdue::without_heartbeat(tx, late, lives, Uuid::nil(), 10).await?.found.len(), 1);
    assert!(overdue::lock_without_heartbeat(tx, adopted.id, late).await?);
    let stuck = add(tx, key("lives", "run", "stuck"), |row| of(row, TaskState::Queued, lives)).await?;
    assert_eq!(overdue::stuck(tx, late, lives, Uuid::nil(), 10).await?.found.len(), 1);
    assert!(overdue::lock_stuck(tx, stuck.id, late, lives).await?);
    audit_log::insert(tx, &noted(&stuck, NOW)).await?;
    assert_eq!(overdue::count_events(tx, &stuck.key, 0, "stuck").await?, 1);
    assert!(audit_log::newest(tx, &stuck.key, 0, "stuck").await?.is_some());
    assert!(overdue::requeue(tx, stuck.id, NOW).await?);
    Ok(())
}

fn noted(of: &TaskInstance, at: Timestamp) -> audit_log::AuditEntry {
    audit_log::AuditEntry {
        dttm: Some(at),
        event: "stuck".to_owned(),
        dag_id: Some(of.key.dag_id.clone()),
        run_id: Some(of.key.run_id.clone()),
        task_id: Some(of.key.task_id.clone()),
        map_index: Some(of.key.map_index),
        try_number: Some(0),
        logical_date: None,
        owner: None,
        owner_display_name: None,
        extra: None,
    }
}

async fn overtaken(tx: &mut Tx) -> Result<(), Error> {
    in_state(tx, "taken", TaskState::Running).await?;
    let all = siblings::of_run(tx, "lives", "run").await?;
    let taken = all.iter().find(|one| one.task_id == "taken").unwrap();
    assert!(siblings::end(tx, taken, TaskState::Failed, NOW).await?);
    add(tx, key("lives", "run", "skipped"), |_| ()).await?;
    let decider = key("lives", "run", "taken");
    assert_eq!(siblings::skip(tx, &decider, -1, &["skipped"], NOW).await?, 1);
    let other = add(tx, key("lives", "run", "other"), |_| ()).await?;
    assert!(task_instance::set_state(tx, other.id, None, Some(TaskState::Scheduled), NOW).await?);
    let shape = MutableFields {
        max_tries: 1,
        pool: "default_pool".to_owned(),
        pool_slots: 1,
        queue: None,
        priority_weight: Some(1),
        operator: None,
        custom_operator_name: None,
        executor: None,
        executor_config: None::<ExecutorConfig>,
    };
    assert_eq!(mutation::update(tx, other.id, &shape, NOW).await?, 1);
    assert_eq!(scheduling::delete(tx, other.id, Some(TaskState::Scheduled)).await?, 1);
    Ok(())
}

async fn asked(tx: &mut Tx) -> Result<(), Error> {
    let id = in_state(tx, "asks", TaskState::AwaitingInput).await?.id;
    let question = Question {
        ti_id: id,
        options: stored!(["yes"]),
        subject: "well?".to_owned(),
        body: None,
        defaults: None,
        multiple: Some(false),
        params: stored!({}),
        assignees: None,
        responded_at: None,
    };
    hitl_detail::insert(tx, &question, NOW).await?;
    assert!(answer::answer_by_default(tx, id, &stored!(["yes"]), &stored!({}), NOW).await?);
    assert!(hitl_detail::find(tx, id).await?.is_some());
    assert!(answer::find(tx, id).await?.is_some());
    assert!(history::archive(tx, id).await?);
    answer::archive(tx, id).await?;
    hitl_detail::forget_response(tx, id).await?;
    Ok(())
}

async fn cleared(tx: &mut Tx) -> Result<(), Error> {
    for (task, state) in [("done", TaskState::Success), ("goes_on", TaskState::Running)] {
        let was = in_state(tx, task, state).await?;
        ferroflow_db::task_instance::reschedule::insert(tx, was.id, NOW, NOW, NOW).await?;
        clear::archive(tx, &was, NOW).await?;
        let mut anew = was.clone();
        anew.id = id::new_v7(NOW, rand::random());
        let is_changed = if state == TaskState::Running {
            clear::restart(tx, &was, &anew, NOW).await?
        } else {
            clear::begin_anew(tx, &was, &anew, NOW).await?
        };
        assert!(is_changed, "{task}");
    }
    Ok(())
}

async fn given_a_version(tx: &mut Tx) -> Result<(), Error> {
    let version = dag_version::latest(tx, "dag").await?.unwrap().id;
    let of_version = add(tx, key("lives", "run", "versioned"), |row| {
        (row.state, row.dag_version_id) = (Some(TaskState::Success), Some(version));
    });
    let id = of_version.await?.id;
    history::archive(tx, id).await?;
    assert!(version_change::was_tried(tx, "lives", "run", version).await?);
    assert!(version_change::set_version(tx, "lives", "run", version, NOW).await? > 0);
    let removed = in_state(tx, "removed", TaskState::Removed).await?.id;
    assert_eq!(version_change::restore(tx, &[removed], NOW).await?, 1);
    let run = dag_run::find(tx, "lives", "run").await?.unwrap();
    assert!(!ferroflow_db::deadline::missed::versions(tx, &run).await?.is_empty());
    let tied = dag_run::DagRun {
        bundle_version: Some("v1".to_owned()),
        created_dag_version_id: Some(version),
        ..run
    };
    assert_eq!(ferroflow_db::deadline::missed::versions(tx, &tied).await?.len(), 1);
    Ok(())
}
