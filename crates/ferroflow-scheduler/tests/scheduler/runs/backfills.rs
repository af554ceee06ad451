//! A backfill is made in steps: whatever happens between two of them, it is completed or was cancelled, never half.

use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use ferroflow_db::Json;
use ferroflow_model::backfill::{Reprocess, Stretch};
use ferroflow_model::state::TriggeredBy;
use ferroflow_operations::backfill::{BackfillRequest, MadeBackfill, create};
use ferroflow_operations::{Caller, OperationError, Operations};
use ferroflow_scheduler::{Context, chores};
use ferroflow_telemetry::clock;
use ferroflow_testkit::Server;
use jiff::ToSpan as _;
use serde_json::json;
use tokio::sync::Notify;

use crate::runs::place::{Place, Plan, at, daily, start_all};

ferroflow_testkit::on_every_database!(
    wherever_its_maker_is_killed_a_backfill_is_completed,
    a_backfill_that_is_cancelled_while_it_is_made_stays_so,
    dates_whose_names_others_have_are_left_out,
);

/// More than two steps.
const DATES: usize = 150;

/// No step has more.
const MAX_DATES: usize = 64;

fn plan(dag_id: &str) -> Plan {
    Plan::new(dag_id, daily())
}

fn asked(dag_id: &str, dates: usize, reprocess: Reprocess) -> BackfillRequest {
    let days = i64::try_from(dates).unwrap() - 1;
    BackfillRequest {
        dag_id: dag_id.to_owned(),
        stretch: Stretch {
            from: at("2024-01-01"),
            to: at("2024-01-01") + (24 * days).hours(),
            is_backwards: true,
            reprocess,
        },
        conf: None,
        max_active_runs: None,
        run_on_latest_version: None,
    }
}

fn operations(cx: &Context) -> Operations {
    let caller = Caller {
        user: "somebody".to_owned(),
        unixname: "somebody".to_owned(),
        triggered_by: TriggeredBy::Cli,
        event_prefix: "cli_",
        audit_extra: Json::from(json!({})),
    };
    Operations::new(Arc::clone(&cx.settings), cx.service.secrets(), caller)
}

/// Makes a backfill, and tells how many dates each step had.
async fn make(
    cx: &Context,
    asked: &BackfillRequest,
) -> (Result<Option<MadeBackfill>, OperationError>, Vec<usize>) {
    let done = Mutex::new(vec![0]);
    let made = create(&operations(cx), asked, &|so_many, _| done.lock().unwrap().push(so_many)).await;
    let done = done.into_inner().unwrap();
    (made, done.windows(2).map(|two| two[1] - two[0]).collect())
}

struct Killed;

/// Makes a backfill until so many steps are done, and nothing after that.
async fn make_steps(cx: &Context, asked: &BackfillRequest, steps: usize) {
    let done = AtomicUsize::new(0);
    // An answer may be there at once, so that what comes next begins before anybody else has a turn.
    let tell = |_, _| {
        if done.fetch_add(1, Ordering::SeqCst) + 1 == steps {
            panic::resume_unwind(Box::new(Killed));
        }
    };
    let operations = operations(cx);
    let mut making = Box::pin(create(&operations, asked, &tell));
    let made =
        poll_fn(|context| match panic::catch_unwind(AssertUnwindSafe(|| making.as_mut().poll(context))) {
            Ok(polled) => polled.map(Some),
            Err(reason) if reason.is::<Killed>() => Poll::Ready(None),
            Err(reason) => panic::resume_unwind(reason),
        });
    let made = made.await;
    assert!(made.is_none(), "it was not killed: {made:?}");
    assert_eq!(done.load(Ordering::SeqCst), steps);
}

/// What a backfill consists of: its dates in order with reasons and states of runs, and the number of task instances.
async fn contents(place: &Place, dag_id: &str) -> Vec<String> {
    let mut contents = place
        .texts(&format!(
            "SELECT CONCAT(1000 + x.sort_ordinal, ' ', x.logical_date, ' ', COALESCE(x.exception_reason, '-'), ' ', \
             COALESCE(r.run_id, '-'), ' ', COALESCE(r.state, '-'), ' ', COALESCE(r.run_type, '-')) AS answer \
             FROM backfill b JOIN backfill_dag_run x ON x.backfill_id = b.id \
             LEFT JOIN dag_run r ON r.id = x.dag_run_id AND r.backfill_id = b.id \
             WHERE b.dag_id = '{dag_id}' AND b.completed_at IS NULL"
        ))
        .await;
    contents.sort();
    contents.extend(
        place
            .texts(&format!(
                "SELECT CONCAT(i.task_id, ' ', COALESCE(i.state, '-'), ' ', COUNT(*)) AS answer \
                 FROM task_instance i JOIN dag_run r ON r.dag_id = i.dag_id AND r.run_id = i.run_id \
                 JOIN backfill b ON b.id = r.backfill_id \
                 WHERE i.dag_id = '{dag_id}' AND b.completed_at IS NULL GROUP BY i.task_id, i.state ORDER BY 1"
            ))
            .await,
    );
    contents
}

async fn number(place: &Place, of: &str) -> String {
    place.texts(&format!("SELECT CONCAT(COUNT(*), '') AS answer FROM {of}")).await.remove(0)
}

/// Waits until nothing of any backfill is undecided.
async fn completely_made(place: &Place) {
    while number(place, "backfill_dag_run WHERE exception_reason = 'unknown'").await != "0" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// For every number of steps that were done before its maker was killed: schedulers let it be while its maker may live,
/// and then it becomes what it would have been.
async fn wherever_its_maker_is_killed_a_backfill_is_completed(server: Server) {
    for has_history in [false, true] {
        let place = Place::new(server, &[0, 1, 2].map(|steps| plan(&format!("dag_{steps}")))).await;
        let cx = place.scheduler().await;
        if has_history {
            for steps in [0, 1, 2] {
                have_history(&place, &cx, &format!("dag_{steps}")).await;
            }
        }
        let (made, sizes) = make(&cx, &asked("dag_0", DATES, Reprocess::Failed)).await;
        let MadeBackfill { made, cleared, skipped, .. } = made.unwrap().unwrap();
        let expected = if has_history { (75, 5, 70) } else { (DATES, 0, 0) };
        assert_eq!((made, cleared, skipped), expected);
        assert_eq!(sizes, [MAX_DATES, MAX_DATES, DATES - 2 * MAX_DATES]);
        let whole = contents(&place, "dag_0").await;
        for steps in [1, 2] {
            let dag_id = format!("dag_{steps}");
            let asked = asked(&dag_id, DATES, Reprocess::Failed);
            make_steps(&cx, &asked, steps).await;
            is_left_alone(&place, &cx, &asked).await;
            if has_history && steps == 2 {
                // Where there is no scheduler of ours, whoever asks for another one completes it.
                place.database.execute("UPDATE backfill SET updated_at = from_date").await;
                let refused = make(&cx, &asked).await.0.unwrap_err();
                assert!(refused.to_string().contains("is complete now"), "{refused}");
            } else {
                chores::backfills(&cx, clock::now() + 1.minute()).await.unwrap();
                completely_made(&place).await;
            }
            assert_eq!(contents(&place, &dag_id).await, whole, "killed after {steps} steps");
            assert_eq!(number(&place, "backfill WHERE is_paused").await, "0");
        }
    }
}

/// Nobody starts, completes or repeats what is half made as long as its maker may live.
async fn is_left_alone(place: &Place, cx: &Context, asked: &BackfillRequest) {
    let half = contents(place, &asked.dag_id).await;
    assert!(half.iter().any(|line| line.contains(" unknown ")), "{half:#?}");
    // Official schedulers do not complete a backfill that has such a run.
    assert!(half.iter().any(|line| line.contains(" queued ")), "{half:#?}");
    let started = start_all(cx, clock::now()).await.started;
    assert!(started.iter().all(|run| run.dag_id != asked.dag_id), "{started:#?}");
    assert_eq!(chores::backfills(cx, clock::now()).await.unwrap().done, Vec::<i64>::new());
    let refused = make(cx, asked).await.0.unwrap_err();
    assert!(refused.to_string().contains("is not over"), "{refused}");
    assert_eq!(contents(place, &asked.dag_id).await, half);
}

/// The latest 70 dates have runs that went well, and five before these failed.
async fn have_history(place: &Place, cx: &Context, dag_id: &str) {
    make(cx, &asked(dag_id, DATES, Reprocess::None)).await.0.unwrap().unwrap();
    let (first, first_good) = (at("2024-01-01") + (75 * 24).hours(), at("2024-01-01") + (80 * 24).hours());
    let [first, first_good] = [first, first_good].map(|date| date.strftime("%Y-%m-%d %H:%M:%S").to_string());
    for statement in [
        format!(
            "DELETE FROM task_instance WHERE dag_id = '{dag_id}' AND run_id IN \
             (SELECT run_id FROM dag_run WHERE dag_id = '{dag_id}' AND logical_date < '{first}')"
        ),
        format!("DELETE FROM dag_run WHERE dag_id = '{dag_id}' AND logical_date < '{first}'"),
        format!("UPDATE task_instance SET state = 'failed' WHERE dag_id = '{dag_id}'"),
        format!("UPDATE dag_run SET state = 'failed' WHERE dag_id = '{dag_id}'"),
        format!(
            "UPDATE dag_run SET state = 'success' WHERE dag_id = '{dag_id}' AND logical_date >= '{first_good}'"
        ),
        "UPDATE backfill SET completed_at = created_at".to_owned(),
    ] {
        place.database.execute(statement).await;
    }
}

/// Whoever cancels a backfill fails the runs that wait, and then notes that it is over; a step may come in between.
async fn a_backfill_that_is_cancelled_while_it_is_made_stays_so(server: Server) {
    let place = Place::new(server, &[plan("dag")]).await;
    let cx = place.scheduler().await;
    let (asked, operations, first_step) =
        (asked("dag", DATES, Reprocess::None), operations(&cx), Notify::new());
    let tell = |_, _| first_step.notify_one();
    let mut maker = std::pin::pin!(create(&operations, &asked, &tell));
    tokio::select! {
        biased;
        () = first_step.notified() => {}
        made = &mut maker => panic!("it is complete: {made:?}"),
    }
    place.database.execute("UPDATE dag_run SET state = 'failed' WHERE run_id LIKE '%2024-05-2%'").await;
    place.database.execute("UPDATE backfill SET completed_at = updated_at").await;
    let refused = maker.await.unwrap_err();
    assert!(refused.to_string().contains("was cancelled while it was made"), "{refused}");
    assert_eq!(place.count("failed").await["dag"], MAX_DATES);
    chores::backfills(&cx, clock::now() + 1.minute()).await.unwrap();
    assert_eq!(place.run_ids().await["dag"].len(), MAX_DATES);
}

/// The runs of the first 70 dates have other dates now, as after a change of the schedule: more than a step of them.
async fn dates_whose_names_others_have_are_left_out(server: Server) {
    let place = Place::new(server, &[plan("dag")]).await;
    let cx = place.scheduler().await;
    make(&cx, &asked("dag", 70, Reprocess::None)).await.0.unwrap().unwrap();
    place.database.execute("UPDATE dag_run SET logical_date = NULL, state = 'success'").await;
    for (dates, made) in [(70, 0), (100, 30)] {
        place.database.execute("UPDATE backfill SET completed_at = created_at").await;
        let mut again = asked("dag", dates, Reprocess::None);
        again.stretch.is_backwards = false;
        let again = tokio::time::timeout(Duration::from_mins(1), make(&cx, &again)).await;
        let again = again.expect("it comes to an end").0.unwrap().unwrap();
        assert_eq!((again.made, again.cleared, again.skipped), (made, 0, 70));
        let (id, reason) = (again.id, "exception_reason = 'in flight'");
        let noted = number(&place, &format!("backfill_dag_run WHERE backfill_id = {id} AND {reason}")).await;
        assert_eq!(noted, "70");
    }
}

/// A run of this DAG has 1,700 task instances.
#[tokio::test]
async fn no_step_goes_on_when_it_has_enough_task_instances() {
    let mut plan = plan("dag");
    plan.sketch = plan.sketch.mapped("a", 1_700);
    let place = Place::new(Server::Sqlite, &[plan]).await;
    let (made, sizes) = make(&place.scheduler().await, &asked("dag", 4, Reprocess::None)).await;
    assert_eq!(made.unwrap().unwrap().made, 4);
    assert_eq!(sizes, [3, 1], "two have less than enough, and three more");

    // The same counts where these runs begin anew.
    for table in ["dag_run", "task_instance"] {
        place.database.execute(format!("UPDATE {table} SET state = 'success'")).await;
    }
    place.database.execute("UPDATE backfill SET completed_at = created_at").await;
    let (made, sizes) = make(&place.scheduler().await, &asked("dag", 4, Reprocess::Completed)).await;
    assert_eq!((made.unwrap().unwrap().cleared, sizes), (4, vec![3, 1]));
}
