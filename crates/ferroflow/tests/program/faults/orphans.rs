//! `dags test` itself is killed: its tasks end with it, and the next one to look after them can tell what became of
//! them.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_execution::{Host, InProcessApi, LOCK_PATIENCE, Refusal, Rules, Service};
use ferroflow_executor::{
    Adopted, EventSender, Executor as _, LocalExecutor, Orphan, Supervision, TaskLogs, TaskTry, WorkloadKey,
    executor_events,
};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_python::{Entry, ForkServer, ForkServerOptions, processes};
use ferroflow_telemetry::clock;
use ferroflow_testkit::dag_processing::wait_until;
use ferroflow_testkit::{HeldRows, Server, given};
use jiff::Timestamp;
use rustix::process::Signal;
use uuid::Uuid;

use crate::faults::stage::{Stage, signal};

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
    let next = Next::on(&stage).await;
    let [tried_again, given_up, later] = [
        orphan(&stage, "tried_again").await,
        orphan(&stage, "given_up").await,
        orphan(&stage, "later").await,
    ];
    assert_eq!((tried_again.has_begun, given_up.has_begun), (true, true));

    let elsewhere = Orphan { hostname: Some("another host".to_owned()), ..tried_again.clone() };
    assert!(next.executor.may_have(&elsewhere) && !next.executor.may_have(&later));
    assert_eq!(next.adopt(&elsewhere).await, Adopted::NotFound);
    assert_eq!(next.adopt(&later).await, Adopted::NotFound);
    let before = stage.states().await;
    assert_eq!((&*before["tried_again"], &*before["later"]), ("running 1", "queued 1"), "{before:?}");

    only_its_own_process_is_ended(&next, &tried_again, &given_up).await;
    let host = tried_again.hostname.clone().unwrap();
    only_its_own_callback_is_ended(&next, &host).await;
    let after = stage.states().await;
    assert_eq!((&*after["tried_again"], &*after["given_up"]), ("up_for_retry 1", "failed 1"), "{after:?}");
    assert_eq!(after["later"], "queued 1");
    // What has been settled stays so, and nobody is told twice.
    next.settle(&given_up).await.unwrap();
    let callbacks = stage.ask("SELECT CAST(data AS CHAR(9999)) AS answer FROM callback").await;
    assert_eq!(callbacks.len(), 2, "{callbacks:?}");
    for callback in &callbacks {
        assert!(callback.contains("The process that supervised the task has ended"), "{callback}");
    }
    assert_eq!(stage.trace().len(), 2, "{:?}", stage.trace());
    if server != Server::Sqlite {
        let running =
            |orphan: Orphan| Orphan { has_begun: true, pid: None, hostname: Some(host.clone()), ..orphan };
        a_locked_row_holds_nobody_up(&stage, &next, [running(later), running(given_up)]).await;
    }
}

/// Another transaction takes the row of an orphan after it was claimed: that one is refused soon, and tried again by who
/// asked.
async fn a_locked_row_holds_nobody_up(stage: &Stage, next: &Next, orphans: [Orphan; 2]) {
    let running = "UPDATE task_instance SET state = 'running' WHERE task_id IN ('later', 'given_up')";
    stage.place.db().execute(running).await;
    let [locked, free] = &orphans;
    let held = HeldRows::of(stage.place.db(), vec![locked.workload.id()]).await;
    let refusal = next.settle(locked).await.unwrap_err();
    assert!(refusal.is_busy(), "{refusal:?}");
    next.settle(free).await.unwrap();
    let states = stage.states().await;
    assert_eq!((&*states["later"], &*states["given_up"]), ("running 1", "failed 1"), "{states:?}");
    held.let_go().await;
    next.settle(locked).await.unwrap();
    assert_eq!(stage.states().await["later"], "failed 1");
}

/// A process that still runs is ended, if it is the one of the try: its number may be another's by now, even that of
/// one of our own.
async fn only_its_own_process_is_ended(next: &Next, own: &Orphan, foreign: &Orphan) {
    let untold = processes::untold_title(Entry::Task);
    let adopt = async |orphan: &Orphan, process: &Sleeping, last_seen: Timestamp| {
        let (pid, last_seen) = (Some(process.pid), Some(last_seen));
        let orphan = Orphan { pid, last_seen, ..orphan.clone() };
        next.settle(&orphan).await.unwrap();
    };
    let title = |orphan: &Orphan| format!("airflow worker -- {} a b c", orphan.workload.id());
    let long_ago = Timestamp::UNIX_EPOCH;

    // Of somebody else, or one that started after the other was last seen.
    let strangers = [Sleeping::elsewhere("somebody else"), Sleeping::elsewhere("ferroflow fork server")];
    for process in &strangers {
        adopt(foreign, process, clock::now()).await;
    }
    let later = Sleeping::elsewhere(&untold);
    adopt(foreign, &later, long_ago).await;
    // What this process has started, whatever it is called.
    let ours = [Sleeping::child(&untold), Sleeping::child(&title(foreign))];
    for process in &ours {
        adopt(foreign, process, clock::now()).await;
    }
    for process in strangers.iter().chain(&ours).chain([&later]) {
        assert!(process.is_asleep(), "{} is left alone", processes::title(process.pid));
    }

    // Its own, however the clock was set meanwhile, and one that was not told yet what to run.
    for (orphan, title, last_seen) in [
        (own, title(own), clock::now()),
        (foreign, title(foreign), long_ago),
        (foreign, untold, clock::now()),
    ] {
        let process = Sleeping::elsewhere(&title);
        adopt(orphan, &process, last_seen).await;
        assert!(!process.is_asleep(), "{title}");
    }
}

/// The same of callbacks.
async fn only_its_own_callback_is_ended(next: &Next, hostname: &str) {
    let id = Uuid::from_u128(1);
    let end = async |process: &Sleeping, seen: Timestamp| {
        let orphan = Orphan {
            workload: WorkloadKey::Callback(id),
            has_begun: true,
            hostname: Some(hostname.to_owned()),
            pid: Some(process.pid),
            last_seen: Some(seen),
            external_executor_id: None,
        };
        next.adopt(&orphan).await;
    };
    let (untold, told) =
        (processes::untold_title(Entry::Callback), format!("airflow worker -- LocalExecutor: called {id}"));
    let long_ago = Timestamp::UNIX_EPOCH;

    let strangers = [
        (Sleeping::elsewhere("somebody else"), clock::now()),
        (Sleeping::elsewhere(&processes::untold_title(Entry::Task)), clock::now()),
        (Sleeping::elsewhere(&untold), long_ago),
        (Sleeping::child(&told), clock::now()),
    ];
    for (process, seen) in &strangers {
        end(process, *seen).await;
        assert!(process.is_asleep(), "{} is left alone", processes::title(process.pid));
    }
    for (title, seen) in [(told, long_ago), (untold, clock::now())] {
        let process = Sleeping::elsewhere(&title);
        end(&process, seen).await;
        assert!(!process.is_asleep(), "{title}");
    }
}

/// A process under this title that sleeps until this is dropped.
struct Sleeping {
    pid: i32,
    child: Option<Child>,
}

impl Sleeping {
    /// One that this process has started.
    fn child(title: &str) -> Self {
        let child = Command::new("sleep").arg0(title).arg("600").spawn().unwrap();
        Self::named(child.id().cast_signed(), Some(child), title)
    }

    /// One whose parent is gone.
    fn elsewhere(title: &str) -> Self {
        let script = "(exec -a \"$0\" sleep 600) > /dev/null 2>&1 & echo $!";
        let output = Command::new("bash").args(["-c", script, title]).output().unwrap();
        Self::named(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap(), None, title)
    }

    /// It has its title only a moment after it was started.
    fn named(pid: i32, child: Option<Child>, title: &str) -> Self {
        assert!(wait_until(30, || processes::title(pid) == title));
        Self { pid, child }
    }

    fn is_asleep(&self) -> bool {
        !processes::title(self.pid).is_empty()
    }
}

impl Drop for Sleeping {
    fn drop(&mut self) {
        if self.is_asleep() {
            signal(self.pid.cast_unsigned(), Signal::KILL);
        }
        drop(self.child.as_mut().map(Child::wait));
    }
}

async fn orphan(stage: &Stage, task: &str) -> Orphan {
    let rows = stage
        .ask(&format!(
            "SELECT CAST(id AS CHAR(36)) || ' ' || state || ' ' || CAST(try_number AS CHAR(9)) || ' ' || \
             COALESCE(CAST(pid AS CHAR(9)), '0') || ' ' || COALESCE(hostname, '') AS answer \
             FROM task_instance WHERE task_id = '{task}'"
        ))
        .await;
    let words: Vec<&str> = rows[0].splitn(5, ' ').collect();
    let key = TaskInstanceKey {
        dag_id: String::new(),
        run_id: String::new(),
        task_id: task.to_owned(),
        map_index: NOT_MAPPED,
    };
    let task = TaskTry { id: words[0].parse().unwrap(), key, try_number: words[2].parse().unwrap() };
    Orphan {
        workload: WorkloadKey::Task(task),
        has_begun: words[1] == "running",
        pid: words[3].parse().ok().filter(|pid| *pid != 0),
        last_seen: Some(clock::now()),
        hostname: Some(words[4].to_owned()),
        external_executor_id: None,
    }
}

/// The next to look after them: an executor, and what its scheduler does with what that tells.
struct Next {
    executor: LocalExecutor,
    service: Service,
}

impl Next {
    async fn on(stage: &Stage) -> Self {
        let (supervision, service) = supervision(stage).await;
        let service = Service { db: stage.db.with_lock_patience(LOCK_PATIENCE), ..service };
        let events = EventSender::new(Arc::new(LocalExecutor::name()), executor_events().0);
        Self { executor: LocalExecutor::new(Arc::new(supervision), 2, events), service }
    }

    async fn adopt(&self, orphan: &Orphan) -> Adopted {
        self.executor.adopt(std::slice::from_ref(orphan)).await.remove(0)
    }

    /// Adopts one that has ended here, and records that.
    async fn settle(&self, orphan: &Orphan) -> Result<(), Refusal> {
        let WorkloadKey::Task(task) = &orphan.workload else { panic!("{orphan:?} is no task") };
        let Adopted::Ended(reason) = self.adopt(orphan).await else { panic!("{orphan:?} runs here") };
        self.service.fail_unreported(task.id, task.try_number, &reason).await.map(drop)
    }
}

async fn supervision(stage: &Stage) -> (Supervision, Service) {
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
        rules: Rules::of(&settings),
    };
    let (host, logs) = (Host::of(&environment), TaskLogs::of(&settings));
    let python = ForkServer::start(options).await.unwrap();
    let api = InProcessApi::for_supervisors(service.clone(), &python, &settings, &host).unwrap();
    (Supervision::new(Arc::new(api), python, settings, host, logs), service)
}

#[tokio::test]
async fn tasks_end_with_their_supervisor_and_are_settled_later_on_sqlite() {
    killed_and_adopted(Server::Sqlite).await;
}

#[tokio::test]
async fn tasks_end_with_their_supervisor_and_are_settled_later_on_postgres() {
    killed_and_adopted(Server::Postgres).await;
}

#[tokio::test]
async fn tasks_end_with_their_supervisor_and_are_settled_later_on_mariadb() {
    killed_and_adopted(Server::MariaDb).await;
}
