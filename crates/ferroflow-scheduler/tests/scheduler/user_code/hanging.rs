//! User code of every kind hangs, and has an hour for it: no other DAG waits, one process is enough for a class that hangs,
//! and what was asked is done once there is an answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_component::{JobType, job_row};
use ferroflow_config::Environment;
use ferroflow_db::connection::Connection;
use ferroflow_db::{Db, testing};
use ferroflow_execution::Host;
use ferroflow_operations::secrets::{BackendAnswer, SecretsBackend};
use ferroflow_scheduler::scheduler::{Loops, Parts, Scheduler};
use ferroflow_scheduler::{Context, LogPaths, Questions};
use ferroflow_telemetry::clock;
use ferroflow_testkit::Server;
use tokio_util::sync::CancellationToken;

use crate::user_code::listeners::losers;
use crate::user_code::partitions::produce;
use crate::user_code::site::{Site, make_runs};

/// Whoever waits for an answer waits for longer than any test may take.
const LIMIT: Duration = Duration::from_hours(1);

#[tokio::test]
async fn whatever_hangs_keeps_no_other_dag_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::new(Server::Sqlite, Some("hanging_hook")).await;
    let site = site.with("HANGING_FOLDER", folder.path().to_str().unwrap());
    site.official(&["hanging"]);
    let hanging = folder.path().join("hang");
    std::fs::write(&hanging, "").unwrap();
    let mut cx = site.scheduler(LIMIT).await;
    cx.service.backend = Some(Arc::new(Silent));
    let questions = cx.run_settings.questions.clone();
    let (mut scheduler, stop) = (scheduler(cx).await, CancellationToken::new());
    let story = async {
        let db = &site.db;
        until(db, "SELECT state AS answer FROM dag_run WHERE dag_id = 'other'", &["success"]).await;
        let asked = ["hook", "reference", "rule", "timetable"];
        until_asked(folder.path(), &asked).await;
        assert_eq!(questions.unanswered(), 12 + 12 + 1 + 3 + 1, "each of them waits");
        let runs = "SELECT dag_id AS answer FROM dag_run ORDER BY dag_id";
        until(db, runs, &["other", "other_copies", "stuck_copies"]).await;

        // In runs that are there it is the same.
        let producers = "SELECT state AS answer FROM task_instance WHERE task_id = 'producer'";
        until(db, producers, &["queued", "queued"]).await;
        finish_producers(db).await;
        let copies = "SELECT dag_id AS answer FROM task_instance WHERE task_id = 'copies' ORDER BY dag_id";
        until(db, copies, &["other_copies", "other_copies", "other_copies", "stuck_copies"]).await;
        until_asked(folder.path(), &["copies", "hook", "reference", "rule", "timetable"]).await;

        std::fs::remove_file(&hanging).unwrap();
        // Of all that waited, only the secrets backend has still not answered.
        let late = "SELECT dag_id AS answer FROM dag WHERE dag_id NOT IN (SELECT dag_id FROM dag_run)";
        until(db, late, &["stuck_variable"]).await;
        until(db, copies, &[["other_copies"; 3], ["stuck_copies"; 3]].concat()).await;
        assert_eq!(asked_of(folder.path()).values().sum::<usize>(), 5, "each class has hung once");
        until_unanswered(&questions, 1).await;
    };
    tokio::select! {
        () = scheduler.run(&stop, Loops::default()) => panic!("nobody has stopped it"),
        () = story => {}
    }
}

#[tokio::test]
async fn a_partition_mapper_that_hangs_keeps_no_other_dag_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::new(Server::Sqlite, None).await;
    let site = site.with("HANGING_FOLDER", folder.path().to_str().unwrap());
    site.official(&["hanging_partitions"]);
    let cx = site.scheduler(LIMIT).await;
    make_runs(&cx).await;
    site.official(&["begin"]);
    produce(&cx, true).await;
    let hanging = folder.path().join("hang");
    std::fs::write(&hanging, "").unwrap();
    let (mut scheduler, stop) = (scheduler(cx).await, CancellationToken::new());
    let story = async {
        let runs = "SELECT DISTINCT dag_id AS answer FROM dag_run ORDER BY dag_id";
        until(&site.db, runs, &["good", "producer"]).await;
        until_asked(folder.path(), &["mapper"]).await;
        std::fs::remove_file(&hanging).unwrap();
        until(&site.db, runs, &["good", "producer", "stuck_0", "stuck_1", "stuck_2"]).await;
        assert_eq!(asked_of(folder.path())["mapper"], 1, "the class has hung once");
    };
    tokio::select! {
        () = scheduler.run(&stop, Loops::default()) => panic!("nobody has stopped it"),
        () = story => {}
    }
}

/// When a partition has its run is of the moment; what Python says of the run is not.
#[tokio::test]
async fn partitions_get_runs_about_which_python_has_a_say() {
    let site = Site::new(Server::Sqlite, Some("hook")).await;
    site.official(&["hanging_partitions"]);
    let cx = site.scheduler(LIMIT).await;
    make_runs(&cx).await;
    site.official(&["begin"]);
    produce(&cx, true).await;
    let (mut scheduler, stop) = (scheduler(cx).await, CancellationToken::new());
    let story = async {
        let runs = "SELECT DISTINCT dag_id AS answer FROM dag_run ORDER BY dag_id";
        until(&site.db, runs, &["good", "producer", "stuck_0", "stuck_1", "stuck_2"]).await;
    };
    tokio::select! {
        () = scheduler.run(&stop, Loops::default()) => panic!("nobody has stopped it"),
        () = story => {}
    }
}

/// A hook is asked about all instances of a run, in whatever order they are read.
#[tokio::test]
async fn a_run_goes_on_with_another_version_of_its_dag_where_there_is_a_hook() {
    let site = Site::new(Server::Sqlite, Some("hook")).await;
    site.official(&["first"]);
    let cx = site.scheduler(LIMIT).await;
    make_runs(&cx).await;
    site.official(&["changed"]);
    let (mut scheduler, stop) = (scheduler(cx).await, CancellationToken::new());
    let story = async {
        let new = "SELECT task_id AS answer FROM task_instance WHERE task_id LIKE '%new' ORDER BY task_id";
        until(&site.db, new, &["hooked_new", "new"]).await;
    };
    tokio::select! {
        () = scheduler.run(&stop, Loops::default()) => panic!("nobody has stopped it"),
        () = story => {}
    }
}

/// Those who waited for a process when the hook was found bad do not try it.
#[tokio::test]
async fn a_hook_that_hangs_for_all_costs_few_processes() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::new(Server::Sqlite, Some("hanging_hook")).await;
    let site = site.with("HANGING_FOLDER", folder.path().to_str().unwrap());
    site.official(&["hanging_hooks"]);
    std::fs::write(folder.path().join("hang"), "").unwrap();
    let cx = site.scheduler(Duration::from_secs(8)).await;
    let questions = cx.run_settings.questions.clone();
    let (mut scheduler, stop) = (scheduler(cx).await, CancellationToken::new());
    let story = async {
        until_unanswered(&questions, 12).await;
        until_unanswered(&questions, 0).await;
        let asked = asked_of(folder.path());
        assert!(asked["hook"] <= 4 + 2, "four at once, and when the third has hung, it is known: {asked:?}");
    };
    tokio::select! {
        () = scheduler.run(&stop, Loops::default()) => panic!("nobody has stopped it"),
        () = story => {}
    }
}

/// The producers succeed with three items each, and nobody tells.
async fn finish_producers(db: &Db) {
    let items = "INSERT INTO task_map (dag_id, task_id, run_id, map_index, length)
        SELECT dag_id, task_id, run_id, -1, 3 FROM task_instance WHERE task_id = 'producer'";
    let success =
        "UPDATE task_instance SET state = 'success', start_date = updated_at, end_date = updated_at,
        updated_at = strftime('%Y-%m-%d %H:%M:%f000', 'now') WHERE task_id = 'producer'";
    for statement in [items, success] {
        testing::change(db, statement).await.unwrap();
    }
}

/// A scheduler whose executor takes tasks, and does nothing with them.
pub(crate) async fn scheduler(mut cx: Context) -> Scheduler {
    let host = Host::of(&Environment::from_process());
    cx.job_id = job_row::start(&cx.db, JobType::Scheduler, &host, clock::now()).await.unwrap();
    cx.run_settings.job_id = Some(cx.job_id);
    let parts = Parts {
        cx: Arc::new(cx),
        paths: LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap(),
        executors: losers(),
        width: 1,
    };
    Scheduler::new(parts, clock::now())
}

/// Waits until the database answers so.
pub(crate) async fn until(db: &Db, question: &str, expected: &[&str]) {
    let mut last = Vec::new();
    let answered = async {
        while last != expected {
            tokio::time::sleep(Duration::from_millis(50)).await;
            last = testing::texts(db, question).await.unwrap();
        }
    };
    let is_answered = tokio::time::timeout(PATIENCE, answered).await.is_ok();
    assert!(is_answered, "{question}: {last:?} instead of {expected:?}");
}

/// Waits until user code of these kinds hangs, and of no others: each once.
async fn until_asked(folder: &Path, kinds: &[&str]) {
    let expected: BTreeMap<String, usize> = kinds.iter().map(|kind| ((*kind).to_owned(), 1)).collect();
    let asked = async {
        while asked_of(folder) != expected {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let is_asked = tokio::time::timeout(PATIENCE, asked).await.is_ok();
    assert!(is_asked, "{:?} instead of {expected:?}", asked_of(folder));
}

async fn until_unanswered(questions: &Questions, expected: usize) {
    let answered = async {
        while questions.unanswered() != expected {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let is_so = tokio::time::timeout(PATIENCE, answered).await.is_ok();
    assert!(is_so, "{} are unanswered", questions.unanswered());
}

/// How often user code of each kind was asked while it hung.
fn asked_of(folder: &Path) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for line in std::fs::read_to_string(folder.join("asked")).unwrap_or_default().lines() {
        *asked.entry(line.to_owned()).or_default() += 1;
    }
    asked
}

/// A test that fails says what it waited for.
const PATIENCE: Duration = Duration::from_mins(5);

/// A secrets backend that never answers.
struct Silent;

impl SecretsBackend for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn variable<'a>(&'a self, _key: &'a str) -> BackendAnswer<'a, String> {
        Box::pin(std::future::pending())
    }

    fn connection<'a>(&'a self, _conn_id: &'a str) -> BackendAnswer<'a, Connection> {
        Box::pin(std::future::pending())
    }
}
