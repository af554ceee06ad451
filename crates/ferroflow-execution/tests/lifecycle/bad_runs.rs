//! A task ends while the row of its run cannot be read. Nothing is lost by that, and nothing invented.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ferroflow_db::Dialect;
use ferroflow_db::task_instance::TaskInstance;
use ferroflow_db::testing::texts;
use ferroflow_execution::api::{ExecutionApi, StateUpdate};
use ferroflow_execution::{Delivered, HeldSlot, Host, InProcessApi, Reports, Service, Undelivered};
use ferroflow_model::state::TaskState;
use ferroflow_model::supervision::{EndOrder, Ending, Exit};
use ferroflow_testkit::{Server, TestDb};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::seed::{Seeded, THEN, instance, seeded};
use crate::service;

const SPOILT: &str = "UPDATE dag_run SET run_type = 'dataset_triggered', triggered_by = 'NOBODY'";
const MENDED: &str = "UPDATE dag_run SET run_type = 'manual', triggered_by = 'CLI'";

/// The disk has no room for successes.
const NO_SUCCESS: [&str; 2] = [
    "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS \
     $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'no room'; END $$",
    "CREATE TRIGGER no_success BEFORE UPDATE ON task_instance FOR EACH ROW WHEN (NEW.state = 'success') \
     EXECUTE FUNCTION no_room()",
];

/// How a process ends that was killed.
const KILLED: Ending = Ending { exit: Exit::Signal(9), reported: None, ordered: None };

#[tokio::test]
async fn an_end_needs_nothing_of_its_run_but_what_it_writes() {
    for server in Server::ALL {
        let states = ["success", "failed", "skipped", "up_for_retry"];
        let mut instances: Vec<Seeded> =
            (0..5).map(|n| instance(n, "run", Some(TaskState::Running))).collect();
        // Its author wants to hear nothing.
        "next".clone_into(&mut instances[4].instance.key.task_id);
        let database = seeded(server, &instances).await;
        database.execute(SPOILT).await;
        let stage = Stage::new(&database).await;
        for (state, seeded) in states.into_iter().zip(&instances) {
            let reports = stage.reports(&seeded.instance, Duration::ZERO);
            assert_eq!(
                reports.report_state(&told(state)).await.unwrap(),
                Delivered::Stored,
                "{state} on {server:?}"
            );
        }
        let ended = stage.reports(&instances[4].instance, Duration::ZERO).end(KILLED).await;
        assert_eq!(ended.unwrap(), Some(TaskState::Failed));
        assert_eq!(stage.states().await, ["failed", "failed", "skipped", "success", "up_for_retry"]);
        assert_eq!(stage.slots_given_back.load(Ordering::Relaxed), 0);
    }
}

/// What a callback is told of its run cannot be made up, and without its callback the end is none.
#[tokio::test]
async fn a_callback_waits_with_the_end_that_it_belongs_to() {
    for server in Server::ALL {
        let mut running = instance(0, "run", Some(TaskState::Running));
        running.instance.max_tries = 2;
        let id = running.instance.id;
        let database = seeded(server, std::slice::from_ref(&running)).await;
        database.execute(SPOILT).await;
        let stage = Stage::new(&database).await;
        let reports = stage.reports(&running.instance, Duration::from_millis(300));
        let mend = async {
            stage.until_slot_is_given_back().await;
            assert_eq!(stage.states().await, ["running"]);
            assert_eq!(stage.callbacks().await, Vec::<String>::new());
            let heard = stage.service.heartbeats("host", &[(id, 7)]).await.unwrap();
            assert_eq!(heard.refused.len(), 0, "it is alive");
            database.execute(MENDED).await;
        };
        let (ended, ()) = tokio::join!(reports.end(KILLED), mend);
        assert_eq!(ended.unwrap(), Some(TaskState::UpForRetry));
        assert_eq!(stage.states().await, ["up_for_retry"]);
        assert_eq!(stage.callbacks().await, ["EmailRequest", "TaskCallbackRequest"], "each once");
        let past = texts(&stage.service.db, "SELECT state AS answer FROM task_instance_history").await;
        assert_eq!(past.unwrap(), ["failed"]);
    }
}

/// A database takes for JSON what nobody can make a value of. Nothing has begun then, and nothing is left out.
#[tokio::test]
async fn json_without_a_value_is_a_row_that_cannot_be_read() {
    for server in Server::ALL {
        let queued = instance(0, "run", Some(TaskState::Queued));
        let mut running = instance(1, "run", Some(TaskState::Running));
        running.instance.max_tries = 2;
        let database = seeded(server, &[queued.clone(), running.clone()]).await;
        let stage = Stage::new(&database).await;
        let refused = async |column: &str| {
            let given_up = stage.reports(&queued.instance, Duration::ZERO).begin().await.unwrap_err();
            let bad = given_up.bad_row().unwrap_or_else(|| panic!("{given_up}"));
            assert_eq!(bad.column, column, "{bad}");
            assert!(bad.key.contains("run_id \"run\"") && bad.value.len() > 4, "{bad}");
            assert_eq!(stage.states().await, ["queued", "running"], "on {server:?}");
        };
        for value in without_a_value(server) {
            database.execute(format!("UPDATE dag_run SET conf = '{value}'")).await;
            refused("conf").await;
        }
        let reports = stage.reports(&running.instance, Duration::from_millis(300));
        let mend = async {
            stage.until_slot_is_given_back().await;
            assert_eq!(stage.states().await, ["queued", "running"]);
            database.execute("UPDATE dag_run SET conf = '{}'").await;
        };
        let (ended, ()) = tokio::join!(reports.end(KILLED), mend);
        assert_eq!(ended.unwrap(), Some(TaskState::UpForRetry));
        assert_eq!(stage.callbacks().await, ["EmailRequest", "TaskCallbackRequest"], "they were not dropped");
        let value = &without_a_value(server)[0];
        let put_off = "UPDATE task_instance SET next_method = 'go_on', next_kwargs =";
        database.execute(format!("{put_off} '{value}' WHERE state = 'queued'")).await;
        let given_up = stage.reports(&queued.instance, Duration::ZERO).begin().await.unwrap_err();
        assert_eq!(given_up.bad_row().unwrap().column, "next_kwargs");
        database.execute(format!("{put_off} '{{}}' WHERE state = 'queued'")).await;
        stage.reports(&queued.instance, Duration::ZERO).begin().await.unwrap();
        assert_eq!(stage.states().await, ["running", "up_for_retry"]);
    }
}

/// What each of them takes for JSON.
fn without_a_value(server: Server) -> Vec<String> {
    let mut values = vec![r#"{"x": 1e400}"#.to_owned()];
    if server == Server::Sqlite {
        values.push(r#"{"x": "\ud800"}"#.to_owned());
    }
    if server != Server::MariaDb {
        values.push(format!("{}{}", "[".repeat(200), "]".repeat(200)));
    }
    values
}

/// A date that is none stands where the end of a try has to look.
#[tokio::test]
async fn what_a_task_told_is_what_is_written_in_the_end() {
    let running = instance(0, "run", Some(TaskState::Running));
    let database = seeded(Server::Sqlite, std::slice::from_ref(&running)).await;
    database.execute("UPDATE dag_run SET partition_date = 'soon'").await;
    let stage = Stage::new(&database).await;
    let reports = stage.reports(&running.instance, Duration::from_millis(300));
    let mend = async {
        stage.until_slot_is_given_back().await;
        assert_eq!(stage.states().await, ["running"], "it has not failed");
        database.execute("UPDATE dag_run SET partition_date = NULL").await;
    };
    let update = told("success");
    let (delivered, ()) = tokio::join!(reports.report_state(&update), mend);
    assert_eq!(delivered.unwrap(), Delivered::Stored);
    assert_eq!(stage.states().await, ["success"]);
    let log = texts(&stage.service.db, "SELECT event AS answer FROM log").await.unwrap();
    assert_eq!(log, ["success"]);
}

#[tokio::test]
async fn who_has_little_time_left_does_not_wait_for_ever() {
    let running = instance(0, "run", Some(TaskState::Running));
    let database = seeded(Server::Sqlite, std::slice::from_ref(&running)).await;
    database.execute(SPOILT).await;
    let stage = Stage::new(&database).await;
    stage.hurry.cancel();
    let refusal = stage.reports(&running.instance, Duration::MAX).end(KILLED).await.unwrap_err();
    let bad = refusal.bad_row().unwrap();
    assert_eq!((bad.column, &*bad.value), ("run_type", "\"dataset_triggered\""));
    assert_eq!(stage.states().await, ["running"]);
}

/// What a task told in vain is told once more when its process has ended, however that was.
#[tokio::test]
async fn what_there_was_no_time_for_is_told_at_the_end() {
    let running = instance(0, "run", Some(TaskState::Running));
    let database = seeded(Server::Postgres, std::slice::from_ref(&running)).await;
    let stage = Stage::new(&database).await;
    stage.hurry.cancel();
    for statement in NO_SUCCESS {
        database.execute(statement).await;
    }
    let reports = stage.reports(&running.instance, Duration::MAX);
    let refusal = reports.report_state(&told("success")).await.unwrap_err();
    assert!(refusal.may_pass(), "{refusal}");
    assert_eq!(
        reports.report_state(&told("failed")).await.unwrap_err().status(),
        Some(409),
        "the first word counts"
    );
    assert_eq!(stage.states().await, ["running"]);
    database.execute("DROP TRIGGER no_success ON task_instance").await;
    let stopped = Ending { ordered: Some(EndOrder::Shutdown), ..KILLED };
    assert_eq!(reports.end(stopped).await.unwrap(), Some(TaskState::Success));
    assert_eq!(stage.states().await, ["success"]);
}

/// It may have succeeded: whoever wrote anything else would have it run again.
#[tokio::test]
async fn what_there_is_no_time_for_at_the_end_is_left_to_others() {
    let running = instance(0, "run", Some(TaskState::Running));
    let database = seeded(Server::Postgres, std::slice::from_ref(&running)).await;
    let stage = Stage::new(&database).await;
    stage.hurry.cancel();
    for statement in NO_SUCCESS {
        database.execute(statement).await;
    }
    let reports = stage.reports(&running.instance, Duration::MAX);
    reports.report_state(&told("success")).await.unwrap_err();
    assert!(reports.end(KILLED).await.unwrap_err().may_pass());
    assert_eq!(stage.states().await, ["running"]);
    assert_eq!(stage.callbacks().await, Vec::<String>::new());
}

/// Somebody has marked it in the meantime: what it told is refused, and that is that.
#[tokio::test]
async fn what_is_refused_at_the_end_is_not_told_again() {
    let running = instance(0, "run", Some(TaskState::Running));
    let database = seeded(Server::Sqlite, std::slice::from_ref(&running)).await;
    database.execute("UPDATE dag_run SET partition_date = 'soon'").await;
    let stage = Stage::new(&database).await;
    stage.hurry.cancel();
    let reports = stage.reports(&running.instance, Duration::MAX);
    reports.report_state(&told("success")).await.unwrap_err();
    database.execute("UPDATE dag_run SET partition_date = NULL").await;
    database.execute("UPDATE task_instance SET state = 'failed'").await;
    assert_eq!(reports.end(KILLED).await.unwrap(), None);
    assert_eq!(stage.states().await, ["failed"]);
}

/// It would have to run without a slot, or to keep it from others for good.
#[tokio::test]
async fn a_start_waits_as_long_as_it_may_have_a_slot() {
    for server in Server::ALL {
        let queued = instance(0, "run", Some(TaskState::Queued));
        let database = seeded(server, std::slice::from_ref(&queued)).await;
        database.execute(SPOILT).await;
        let stage = Stage::new(&database).await;
        let given_up = stage.reports(&queued.instance, Duration::from_millis(300)).begin().await;
        assert_eq!(given_up.unwrap_err().bad_row().unwrap().column, "run_type");
        assert_eq!(stage.states().await, ["queued"]);
        let reports = stage.reports(&queued.instance, Duration::MAX);
        let mend = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            database.execute(MENDED).await;
        };
        let (begun, ()) = tokio::join!(reports.begin(), mend);
        assert_eq!(begun.unwrap().dag_run.run_type, "manual");
        assert_eq!(stage.states().await, ["running"]);
    }
}

/// Who runs tasks here.
struct Stage {
    service: Service,
    api: Arc<dyn ExecutionApi>,
    host: Host,
    hurry: CancellationToken,
    slots_given_back: Arc<AtomicUsize>,
    give_back: Box<dyn Fn() + Send + Sync>,
}

impl Stage {
    async fn new(database: &TestDb) -> Self {
        let slots_given_back = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&slots_given_back);
        let service = service(database).await;
        Self {
            api: Arc::new(InProcessApi::new(service.clone())),
            service,
            host: Host { name: "host".to_owned(), user: "user".to_owned() },
            hurry: CancellationToken::new(),
            slots_given_back,
            give_back: Box::new(move || _ = counted.fetch_add(1, Ordering::Relaxed)),
        }
    }

    fn reports(&self, instance: &TaskInstance, at_most: Duration) -> Reports<'_> {
        Reports {
            api: &self.api,
            id: instance.id,
            key: instance.key.clone(),
            try_number: instance.try_number,
            host: &self.host,
            pid: 7,
            hurry: &self.hurry,
            slot: HeldSlot { at_most, give_back: &*self.give_back },
            undelivered: Undelivered::default(),
        }
    }

    async fn until_slot_is_given_back(&self) {
        for _ in 0..6000 {
            if self.slots_given_back.load(Ordering::Relaxed) > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("nobody gives the slot back");
    }

    async fn states(&self) -> Vec<String> {
        let mut states = texts(&self.service.db, "SELECT state AS answer FROM task_instance").await.unwrap();
        states.sort();
        states
    }

    /// The kinds of those that were left for the DAG processor.
    async fn callbacks(&self) -> Vec<String> {
        let question = "SELECT CAST(data AS CHAR(2000)) AS answer FROM callback";
        let question = match self.service.db.dialect() {
            Dialect::Postgres => "SELECT data #>> '{}' AS answer FROM callback",
            _ => question,
        };
        let left = texts(&self.service.db, question).await.unwrap();
        let mut kinds: Vec<String> = ["EmailRequest", "TaskCallbackRequest"]
            .into_iter()
            .flat_map(|kind| {
                let class = format!("\"req_class\": \"{kind}\"");
                let times = left.iter().filter(|data| data.contains(&class)).count();
                std::iter::repeat_n(kind.to_owned(), times)
            })
            .collect();
        assert_eq!(kinds.len(), left.len(), "{left:?}");
        kinds.sort();
        kinds
    }
}

fn told(state: &str) -> StateUpdate {
    serde_json::from_value(json!({"state": state, "end_date": THEN.to_string()})).unwrap()
}
