//! `dags test` itself is killed: its tasks end with it, and the next one to look after them can tell what became of
//! them.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_execution::{Host, MaskRules, Masker, Rules, Service};
use ferroflow_executor::{Adopted, Orphan, Supervision, TaskLogs};
use ferroflow_model::state::TaskState;
use ferroflow_python::{ForkServer, ForkServerOptions};
use ferroflow_testkit::dag_processing::wait_until;
use ferroflow_testkit::{Server, given};

use crate::stage::Stage;

async fn killed_and_adopted(server: Server) {
    let stage = Stage::on(server).await.with("AIRFLOW__CORE__PARALLELISM", "2");
    stage.write(
        "",
        r#"
def lasting(name, tries):
    @task(task_id=name, retries=tries - 1, on_failure_callback=told("failure"), on_retry_callback=told("retry"),
          weight_rule="absolute", priority_weight=1 if name == "later" else 10)
    def run():
        ran()
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        time.sleep(600)
    run()

lasting("tried_again", 2)
lasting("given_up", 1)
lasting("later", 1)
"#,
    );
    let mut running = stage.start();
    stage.wait_for_lines("ran", 2, &running);
    running.kill();
    stage.assert_nobody_left();
    assert_eq!(stage.trace().len(), 2, "{:?}", stage.trace());

    // As if it had been handed out when the end came.
    stage.place.db().execute("UPDATE task_instance SET state = 'queued' WHERE task_id = 'later'").await;
    let supervision = supervision(&stage).await;
    let [tried_again, given_up, later] = [
        orphan(&stage, "tried_again").await,
        orphan(&stage, "given_up").await,
        orphan(&stage, "later").await,
    ];
    assert_eq!((tried_again.state, given_up.state), (TaskState::Running, TaskState::Running));

    let elsewhere = Orphan { hostname: Some("another host".to_owned()), ..tried_again.clone() };
    assert_eq!(supervision.adopt(&elsewhere).await.unwrap(), Adopted::Elsewhere);
    assert_eq!(supervision.adopt(&later).await.unwrap(), Adopted::NotBegun);
    let before = stage.states().await;
    assert_eq!((&*before["tried_again"], &*before["later"]), ("running 1", "queued 1"), "{before:?}");

    only_its_own_process_is_ended(&supervision, &tried_again, &given_up).await;
    let after = stage.states().await;
    assert_eq!((&*after["tried_again"], &*after["given_up"]), ("up_for_retry 1", "failed 1"), "{after:?}");
    assert_eq!(after["later"], "queued 1");
    // What has been settled stays so, and nobody is told twice.
    assert_eq!(supervision.adopt(&given_up).await.unwrap(), Adopted::Settled);
    let callbacks = stage.ask("SELECT CAST(data AS text) AS answer FROM callback").await;
    assert_eq!(callbacks.len(), 2, "{callbacks:?}");
    for callback in &callbacks {
        assert!(callback.contains("The process that supervised the task has ended"), "{callback}");
    }
    assert_eq!(stage.trace().len(), 2, "{:?}", stage.trace());
}

/// A process that still runs is ended, if it is the one of the try: its number may be another's by now.
async fn only_its_own_process_is_ended(supervision: &Supervision, own: &Orphan, foreign: &Orphan) {
    let mut own_process = named(Command::new("sleep").arg0(format!("airflow worker -- {}", own.id)));
    let mut other_process = named(Command::new("sleep").arg0("somebody else"));
    let with_pid = |orphan: &Orphan, process: &std::process::Child| Orphan {
        pid: Some(i32::try_from(process.id()).unwrap()),
        ..orphan.clone()
    };
    let settled = supervision.adopt(&with_pid(own, &own_process)).await.unwrap();
    assert_eq!(settled, Adopted::Settled);
    // It has no memory left to run in; a moment later it can be waited for.
    assert!(wait_until(30, || own_process.try_wait().unwrap().is_some()));
    assert_eq!(supervision.adopt(&with_pid(foreign, &other_process)).await.unwrap(), Adopted::Settled);
    assert!(other_process.try_wait().unwrap().is_none());
    other_process.kill().unwrap();
    other_process.wait().unwrap();
    // One that was forked for the task and not told yet what to run.
    let folder = tempfile::tempdir().unwrap();
    let untold = folder.path().join("ferroflow-fork");
    std::fs::copy("/bin/sleep", &untold).unwrap();
    let mut untold_process = named(&mut Command::new(&untold));
    let settled = supervision.adopt(&with_pid(foreign, &untold_process)).await.unwrap();
    assert_eq!(settled, Adopted::Settled);
    assert!(wait_until(30, || untold_process.try_wait().unwrap().is_some()));
}

/// A process that sleeps, once it can be told by its name: it has it only a moment after it was started.
fn named(sleep: &mut Command) -> std::process::Child {
    let process = sleep.arg("600").spawn().unwrap();
    let title = format!("/proc/{}/cmdline", process.id());
    assert!(wait_until(30, || std::fs::read(&title).is_ok_and(|title| !title.is_empty())));
    process
}

async fn orphan(stage: &Stage, task: &str) -> Orphan {
    let rows = stage
        .ask(&format!(
            "SELECT CAST(id AS VARCHAR(40)) || ' ' || state || ' ' || CAST(try_number AS VARCHAR(9)) || ' ' || \
             COALESCE(CAST(pid AS VARCHAR(9)), '0') || ' ' || COALESCE(hostname, '') AS answer \
             FROM task_instance WHERE task_id = '{task}'"
        ))
        .await;
    let words: Vec<&str> = rows[0].splitn(5, ' ').collect();
    Orphan {
        id: words[0].parse().unwrap(),
        state: words[1].parse().unwrap(),
        try_number: words[2].parse().unwrap(),
        pid: words[3].parse().ok().filter(|pid| *pid != 0),
        hostname: Some(words[4].to_owned()),
    }
}

async fn supervision(stage: &Stage) -> Supervision {
    let home = stage.place.root().join("home");
    let variables = [
        ("AIRFLOW_HOME", home.display().to_string()),
        ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", stage.place.db().url()),
    ];
    let environment = variables
        .iter()
        .fold(Environment::empty(&home), |environment, (name, value)| environment.with(*name, value.clone()));
    let settings = Arc::new(Settings::load(&Configuration::load(&environment).unwrap()).unwrap());
    let options = ForkServerOptions {
        environment: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        ..ForkServerOptions::new(Path::new(&given("VENV")).join("bin/python"))
    };
    let service = Service {
        db: stage.db.clone(),
        fernet: Arc::new(Fernet::new("").unwrap()),
        environment: Arc::new(environment.clone()),
        backend: None,
        timetables: None,
        masker: Arc::new(Masker::new(MaskRules::of(&settings))),
        rules: Rules::of(&settings),
    };
    let (host, logs) = (Host::of(&environment), TaskLogs::of(&settings));
    Supervision::new(service, ForkServer::start(options).await.unwrap(), settings, host, logs).unwrap()
}

#[tokio::test]
async fn tasks_end_with_their_supervisor_and_are_settled_later_on_sqlite() {
    killed_and_adopted(Server::Sqlite).await;
}

#[tokio::test]
async fn tasks_end_with_their_supervisor_and_are_settled_later_on_postgres() {
    killed_and_adopted(Server::Postgres).await;
}
