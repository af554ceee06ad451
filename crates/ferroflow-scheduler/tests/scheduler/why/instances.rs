//! A task instance that does not run.

use ferroflow_db::task_instance::TaskInstance;
use ferroflow_db::testing;
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_scheduler::why::NoAnswer;
use ferroflow_testkit::Server;
use jiff::ToSpan as _;
use serde_json::json;

use crate::why::place::{NOW, Place};
use crate::why::sketch::Sketch;

ferroflow_testkit::on_every_database!(
    what_is_waited_for,
    limits_and_who_holds_them,
    parallelism,
    at_work_and_parked,
    what_has_failed_in_a_run_that_has,
);

/// A run that has failed tells of what is unfinished, of what has failed, and of what is not there.
async fn what_has_failed_in_a_run_that_has(server: Server) {
    let sketch = Sketch::of("gone; waits < gone; list; each < list; sum < each").mapped_over("each", "list");
    let place = with_run(server, &sketch).await;
    testing::change(&place.db, "UPDATE dag_run SET state = 'failed'").await.unwrap();
    let of = |task: &'static str| ("dag", "run", task);
    place.instance(of("waits"), |_| {}).await;
    place.instance(of("list"), |row| row.state = Some(TaskState::Success)).await;
    for task in ["each", "sum"] {
        place.instance(of(task), |row| row.state = Some(TaskState::UpstreamFailed)).await;
    }
    let answer = place.ask(&["dag", "run"]).await.unwrap();
    assert_eq!(answer.reasons[0].text, "it has ended: failed; 1 of its task instances is not finished");
    let mut told: Vec<String> = answer
        .parts
        .iter()
        .flat_map(|part| &part.reasons)
        .map(|reason| {
            let holders: Vec<_> =
                reason.holders.iter().map(|held| format!("{} {}", held.what, held.state)).collect();
            format!("{} [{}]", reason.text, holders.join(", "))
        })
        .collect();
    told.sort();
    let expected = [
        "it is finished: upstream_failed ['dag.each' of run 'run' upstream_failed]",
        "it is finished: upstream_failed: all before it have succeeded, and how many instances it is to have is not \
         known, or too many []",
        "its run 'run' is failed []",
        "the trigger rule all_success is not met: 0 of 1 upstream are finished [task 'gone' without a task instance in \
         this run]",
    ];
    assert_eq!(told, expected);
}

fn scheduled(row: &mut TaskInstance) {
    (row.state, row.scheduled_dttm) = (Some(TaskState::Scheduled), Some(NOW - 90.seconds()));
}

fn running(row: &mut TaskInstance) {
    (row.state, row.start_date) = (Some(TaskState::Running), Some(NOW - 60.seconds()));
}

/// A place with a scheduler, and a running run of a DAG.
async fn with_run(server: Server, sketch: &Sketch) -> Place {
    let place = Place::new(server).await;
    place.component("SchedulerJob", 1).await;
    place.dag("dag", sketch, |row| row.max_active_tasks = 2).await;
    place.run("dag", "run", 10, RunState::Running, |_| {}).await;
    place
}

async fn what_is_waited_for(server: Server) {
    let sketch = Sketch::of("a; b; c < a, b; retried; sensor; done")
        .with("retried", "retries", json!(3))
        .with("sensor", "_is_sensor", json!(true));
    let place = with_run(server, &sketch).await;
    let of = |task: &'static str| ("dag", "run", task);
    place.instance(of("a"), running).await;
    place.instance(of("b"), |row| row.state = Some(TaskState::Success)).await;
    place.instance(of("c"), |_| {}).await;
    place
        .instance(of("retried"), |row| {
            (row.state, row.try_number, row.max_tries) = (Some(TaskState::UpForRetry), 1, 3);
            (row.start_date, row.end_date) = (Some(NOW - 20.seconds()), Some(NOW - 10.seconds()));
        })
        .await;
    place
        .instance(of("done"), |row| {
            (row.state, row.end_date) = (Some(TaskState::Success), Some(NOW - 5.seconds()));
        })
        .await;
    let rule =
        "dependencies: the trigger rule all_success is not met: 1 of 2 upstream are finished (1 succeeded)";
    assert_eq!(place.reasons(&["dag", "run", "c"]).await, [rule, "  'dag.a' of run 'run' running 60 s ago"]);
    let retry = place.reasons(&["dag", "run", "retried"]).await;
    assert!(
        retry[0].starts_with("delay: its next try is not due before 2027-01-15T08:04:50Z until in 290 s"),
        "{retry:?}"
    );
    assert_eq!(place.reasons(&["dag", "run", "done"]).await, ["finished: it is finished: success 5 s ago"]);
    let Err(NoAnswer::NoTask { near, .. }) = place.ask(&["dag", "run", "retrie"]).await else {
        panic!("no task")
    };
    assert_eq!(near, ["retried"]);
    let answer = place.ask(&["dag", "run"]).await.unwrap();
    let parts: Vec<&str> = answer.parts.iter().map(|part| part.subject.as_str()).collect();
    assert_eq!(parts, ["'dag.a' of run 'run'", "'dag.c' of run 'run'", "'dag.retried' of run 'run'"]);
    assert!(answer.reasons[0].text.contains("3 of its task instances are not finished"), "{answer:?}");

    testing::change(&place.db, "UPDATE dag SET is_paused = true").await.unwrap();
    testing::change(&place.db, "UPDATE dag_run SET state = 'queued'").await.unwrap();
    let reasons = place.reasons(&["dag", "run", "c"]).await;
    assert!(reasons[0].starts_with("paused: "), "{reasons:?}");
    assert_eq!(reasons[1], "run_not_running: its run 'run' is queued");
    assert_eq!(reasons[2], rule);
}

async fn limits_and_who_holds_them(server: Server) {
    let sketch =
        Sketch::of("a; b; c; d; limited; elsewhere").with("limited", "max_active_tis_per_dag", json!(1));
    let place = with_run(server, &sketch).await;
    place.pool("small", 1).await;
    let of = |task: &'static str| ("dag", "run", task);
    place
        .instance(of("a"), |row| {
            scheduled(row);
            "small".clone_into(&mut row.pool);
        })
        .await;
    let free = "next: nothing is in its way: it is queued next 90 s ago";
    assert_eq!(place.reasons(&["dag", "run", "a"]).await, [free]);
    place
        .instance(of("b"), |row| {
            (row.state, row.queued_dttm) = (Some(TaskState::Queued), Some(NOW - 30.seconds()));
            "small".clone_into(&mut row.pool);
        })
        .await;
    let full = "pool: pool 'small' is full: 1 of 1 slots are in use 90 s ago";
    assert_eq!(place.reasons(&["dag", "run", "a"]).await, [full, "  'dag.b' of run 'run' queued 30 s ago"]);
    testing::change(&place.db, "UPDATE task_instance SET pool = 'none' WHERE task_id = 'a'").await.unwrap();
    let no_pool = "pool 'none' does not exist";
    assert_eq!(place.reasons(&["dag", "run", "a"]).await, [format!("no_pool: {no_pool} 90 s ago")]);
    // No time mends that: whoever asks about the DAG is told at once.
    let of_dag = place.ask(&["dag"]).await.unwrap();
    assert!(of_dag.parts[0].reasons.iter().any(|reason| reason.text == no_pool), "{of_dag:?}");

    place
        .instance(of("elsewhere"), |row| {
            scheduled(row);
            row.executor = Some("Nobody".to_owned());
        })
        .await;
    let unknown = "executor: there is no executor 'Nobody' for DAGs of no team 90 s ago";
    assert_eq!(place.reasons(&["dag", "run", "elsewhere"]).await, [unknown]);

    place.instance(of("limited"), scheduled).await;
    place.run("dag", "other", 20, RunState::Running, |_| {}).await;
    place.instance(("dag", "other", "limited"), |row| row.state = Some(TaskState::Deferred)).await;
    let task =
        "task_limit: task 'dag.limited' has 1 active instances, and max_active_tis_per_dag is 1 90 s ago";
    let held = "  'dag.limited' of run 'other' deferred";
    assert_eq!(place.reasons(&["dag", "run", "limited"]).await, [task, held]);

    place.instance(of("c"), running).await;
    place.instance(of("d"), scheduled).await;
    let run = "max_active_tasks: run 'run' of DAG 'dag' has 2 task instances at work, and max_active_tasks is 2 90 s ago";
    let reasons = place.reasons(&["dag", "run", "d"]).await;
    assert_eq!(reasons[0], run);
    assert_eq!(reasons.len(), 3);
}

async fn parallelism(server: Server) {
    let place = with_run(server, &Sketch::of("a; b; c; d; e")).await;
    testing::change(&place.db, "UPDATE dag SET max_active_tasks = 16").await.unwrap();
    let busy = place.component("SchedulerJob", 1).await;
    testing::change(&place.db, &format!("DELETE FROM job WHERE id <> {busy}")).await.unwrap();
    for task in ["a", "b", "c", "d"] {
        place
            .instance(("dag", "run", task), |row| {
                running(row);
                row.queued_by_job_id = Some(busy);
            })
            .await;
    }
    place.instance(("dag", "run", "e"), scheduled).await;
    let reasons = place.reasons(&["dag", "run", "e"]).await;
    assert!(reasons[0].starts_with("executor: ") || reasons[0].starts_with("parallelism: "), "{reasons:?}");
    assert_eq!(reasons.len(), 5);
    // Another scheduler has room.
    place.component("SchedulerJob", 2).await;
    assert!(place.reasons(&["dag", "run", "e"]).await[0].starts_with("next: "));
}

async fn at_work_and_parked(server: Server) {
    let place = with_run(server, &Sketch::of("a; b; c; d; e")).await;
    let gone = place.component("SchedulerJob", 1000).await;
    let of = |task: &'static str| ("dag", "run", task);
    place
        .instance(of("a"), |row| {
            (row.state, row.queued_dttm) = (Some(TaskState::Queued), Some(NOW - 100.seconds()));
            row.queued_by_job_id = Some(gone);
        })
        .await;
    let queued = format!(
        "queued: it was handed to the default executor by scheduler {gone} on host (which does not live any more), \
         and has not started; it is taken back when it stays so 100 s ago until in 500 s"
    );
    assert_eq!(place.reasons(&["dag", "run", "a"]).await, [queued]);
    let of_run = place.ask(&["dag", "run"]).await.unwrap();
    assert!(of_run.reasons[0].text.contains("1 of its task instances is not finished"), "{of_run:?}");
    place
        .instance(of("b"), |row| {
            running(row);
            (row.hostname, row.pid) = (Some("worker".to_owned()), Some(42));
            row.last_heartbeat_at = Some(NOW - 2.seconds());
        })
        .await;
    let runs =
        "running: it runs on worker as process 42; its last heartbeat is of 2027-01-15T07:59:58Z 60 s ago";
    assert_eq!(place.reasons(&["dag", "run", "b"]).await, [runs]);
    place
        .instance(of("c"), |row| {
            running(row);
            row.last_heartbeat_at = Some(NOW - 1.hour());
        })
        .await;
    assert!(place.reasons(&["dag", "run", "c"]).await[0].contains("it is taken for dead"));
    let trigger = "INSERT INTO {trigger} (id, classpath, kwargs, created_date) VALUES (5, 'x', '', '2027-01-15 07:00:00')";
    let quote = if server == Server::MariaDb { "`trigger`" } else { "\"trigger\"" };
    testing::change(&place.db, &trigger.replace("{trigger}", quote)).await.unwrap();
    place
        .instance(of("d"), |row| {
            (row.state, row.trigger_id) = (Some(TaskState::Deferred), Some(5));
            (row.updated_at, row.trigger_timeout) = (Some(NOW - 8.seconds()), Some(NOW + 8.seconds()));
        })
        .await;
    let nobody =
        "deferred: it waits for trigger 5, and no triggerer lives that would run it 8 s ago until in 8 s";
    assert_eq!(place.reasons(&["dag", "run", "d"]).await, [nobody]);
    let triggerer = place.component("TriggererJob", 1).await;
    let free = "deferred: it waits for trigger 5, which no triggerer has taken yet 8 s ago until in 8 s";
    assert_eq!(place.reasons(&["dag", "run", "d"]).await, [free]);
    let take = format!("UPDATE {quote} SET triggerer_id = {triggerer}");
    testing::change(&place.db, &take).await.unwrap();
    let taken = format!(
        "deferred: it waits for trigger 5, which triggerer {triggerer} on host runs 8 s ago until in 8 s"
    );
    assert_eq!(place.reasons(&["dag", "run", "d"]).await, [taken]);
    place.instance(of("e"), |row| row.state = Some(TaskState::AwaitingInput)).await;
    assert!(
        place.reasons(&["dag", "run", "e"]).await[0].starts_with("awaits_input: it waits for the answer")
    );
}
