//! A run that does not start.

use ferroflow_db::testing;
use ferroflow_model::state::{RunState, RunType};
use ferroflow_model::why::Kind;
use ferroflow_scheduler::why::NoAnswer;
use ferroflow_testkit::Server;

use crate::why::place::Place;
use crate::why::sketch::Sketch;

ferroflow_testkit::on_every_database!(reasons_of_runs, runs_of_backfills, rows_that_cannot_be_read);

async fn reasons_of_runs(server: Server) {
    let place = Place::new(server).await;
    let scheduler = place.component("SchedulerJob", 1).await;
    place.dag("dag", &Sketch::of("a"), |row| row.max_active_runs = Some(1)).await;
    place.run("dag", "one", 3, RunState::Queued, |_| {}).await;
    assert_eq!(place.reasons(&["dag", "one"]).await, ["next: nothing is in its way: it starts next"]);
    place.run("dag", "two", 5, RunState::Running, |_| {}).await;
    let full = "max_active_runs: 1 runs are running and 0 wait before it, and max_active_runs is 1";
    assert_eq!(place.reasons(&["dag", "one"]).await, [full, "  run 'two' running 300 s ago"]);
    place.run("dag", "soon", -1, RunState::Queued, |_| {}).await;
    let early = "not_due: it may start at 2027-01-15T08:01:00Z until in 60 s";
    assert_eq!(place.reasons(&["dag", "soon"]).await, [early]);
    place.run("dag", "done", 9, RunState::Success, |_| {}).await;
    assert_eq!(place.reasons(&["dag", "done"]).await, ["finished: it has ended: success"]);
    let unseen = "running: it is running, and 0 of its task instances are not finished; no scheduler has looked at \
                  it yet 300 s ago";
    assert_eq!(place.reasons(&["dag", "two"]).await, [unseen]);
    let seen = format!("UPDATE dag_run SET scheduled_by_job_id = {scheduler} WHERE run_id = 'two'");
    testing::change(&place.db, &seen).await.unwrap();
    assert!(
        place.reasons(&["dag", "two"]).await[0].contains(&format!("; scheduler {scheduler} on host looked"))
    );
    let Err(NoAnswer::NoRun { near, .. }) = place.ask(&["dag", "twoo"]).await else {
        panic!("there is none")
    };
    assert_eq!(near, ["two"]);
    place.run("dag", "early", -2, RunState::Running, |_| {}).await;
    let early = place.reasons(&["dag", "early"]).await;
    assert_eq!(early[0], "not_due: no scheduler looks at it before its run_after until in 120 s");
    assert!(early.len() == 2 && early[1].starts_with("running: "), "{early:?}");

    testing::change(&place.db, "UPDATE dag SET is_paused = true").await.unwrap();
    assert_eq!(place.reasons(&["dag", "one"]).await, ["paused: the DAG is paused"]);
}

async fn runs_of_backfills(server: Server) {
    let place = Place::new(server).await;
    place.component("SchedulerJob", 1).await;
    place.dag("dag", &Sketch::of("a"), |_| {}).await;
    let columns = "id, dag_id, from_date, to_date, dag_run_conf, is_paused, reprocess_behavior, max_active_runs, \
                   created_at, updated_at";
    let date = "'2027-01-01 00:00:00'";
    let values = format!("7, 'dag', {date}, {date}, '{{}}', true, 'none', 1, {date}, {date}");
    testing::change(&place.db, &format!("INSERT INTO backfill ({columns}) VALUES ({values})")).await.unwrap();
    let of_backfill = |run: &mut ferroflow_db::dag_run::NewDagRun| {
        (run.backfill_id, run.run_type) = (Some(7), RunType::Backfill);
    };
    place.run("dag", "past", 60, RunState::Queued, of_backfill).await;
    assert_eq!(place.reasons(&["dag", "past"]).await, ["backfill: backfill 7 is paused"]);
    testing::change(&place.db, "UPDATE backfill SET is_paused = false").await.unwrap();
    // A run of its own does not hold the backfill's place.
    place.run("dag", "present", 1, RunState::Running, |_| {}).await;
    assert_eq!(place.reasons(&["dag", "past"]).await, ["next: nothing is in its way: it starts next"]);
    place.run("dag", "before", 120, RunState::Running, of_backfill).await;
    let full = "max_active_runs: 1 runs are running and 0 wait before it, and max_active_runs is 1";
    assert_eq!(place.reasons(&["dag", "past"]).await, [full, "  run 'before' running 7200 s ago"]);
}

/// SQLite compares dates as the texts that they are.
#[tokio::test]
async fn a_date_that_the_database_takes_for_later_than_it_is() {
    let place = Place::new(Server::Sqlite).await;
    place.component("SchedulerJob", 1).await;
    place.dag("dag", &Sketch::of("a"), |_| {}).await;
    for (state, minutes) in [(RunState::Queued, 5), (RunState::Running, 6)] {
        place.run("dag", state.as_str(), minutes, state, |_| {}).await;
    }
    let date = "UPDATE dag_run SET run_after = '2027-01-15T07:55:00+00:00'";
    testing::change(&place.db, date).await.unwrap();
    for state in [RunState::Queued, RunState::Running] {
        let reason = place.reasons(&["dag", state.as_str()]).await.swap_remove(0);
        assert!(
            reason.starts_with("not_due: its run_after, 2027-01-15T07:55:00Z, is stored in a form"),
            "{reason}"
        );
    }
}

/// The row, the column and what it holds are in the answer.
async fn rows_that_cannot_be_read(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", &Sketch::of("a"), |_| {}).await;
    place.run("dag", "run", 3, RunState::Running, |_| {}).await;
    place.instance(("dag", "run", "a"), |_| {}).await;
    let spoils = [
        (
            "UPDATE task_instance SET state = 'shutdown'",
            ["task_instance/", "task_id \"a\"", "column state", "shutdown"],
        ),
        (
            "UPDATE dag_run SET run_type = 'dataset'",
            ["dag_run/", "run_id \"run\"", "column run_type", "dataset"],
        ),
    ];
    for (spoil, words) in spoils {
        testing::change(&place.db, spoil).await.unwrap();
        for asked in [&["dag", "run"][..], &["dag"]] {
            let answer = place.ask(asked).await.unwrap();
            let bad = answer.reasons.iter().filter(|reason| reason.kind == Kind::UnreadableRow);
            let bad: Vec<&str> = bad.map(|reason| reason.text.as_str()).collect();
            let is_told = |text: &&str| words.iter().all(|word| text.contains(word));
            assert!(bad.iter().any(is_told), "{asked:?}, {words:?}: {bad:?}");
        }
    }
}
