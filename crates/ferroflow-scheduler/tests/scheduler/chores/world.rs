//! A scheduler on a database, and executors that run nothing.

use std::sync::Arc;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::Db;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_execution::{Rules, Service};
use ferroflow_executor::{Executor, ExecutorSet, NamedExecutor, Orphan, Slots, Workload, WorkloadKind};
use ferroflow_model::admission::ExecutorName;
use ferroflow_scheduler::chores::{OrphanRetries, RowRetries};
use ferroflow_scheduler::run::{Pace, RunSettings};
use ferroflow_scheduler::{Context, Definitions, Progress, Questions};
use jiff::SignedDuration;
use uuid::Uuid;

pub(crate) const FERNET_KEY: &str = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=";

/// What the steps of a scheduler are given.
pub(crate) fn context(db: &Db, job_id: i64) -> Context {
    let environment = Environment::empty("/nowhere").with("AIRFLOW_HOME", "/nowhere");
    let settings = Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
    let fernet = Arc::new(Fernet::new(FERNET_KEY).unwrap());
    Context {
        db: db.clone(),
        job_id,
        run_settings: RunSettings {
            job_id: Some(job_id),
            unixname: "somebody".to_owned(),
            fernet: Arc::clone(&fernet),
            longest_wait: 86_400,
            pace: Pace::Scheduled,
            rules: None,
            questions: Questions::default(),
        },
        service: Service {
            db: db.clone(),
            fernet,
            environment: Arc::new(environment),
            backend: None,
            timetables: None,
            rules: Rules::of(&settings),
        },
        timetables: None,
        definitions: Definitions::new(SignedDuration::ZERO),
        orphan_retries: OrphanRetries::default(),
        row_retries: RowRetries::default(),
        progress: Progress::default(),
        settings: Arc::new(settings),
    }
}

/// One executor that runs nothing: what was running when its scheduler went is elsewhere.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fake {
    pub(crate) runs_callbacks: bool,
    pub(crate) tests_connections: bool,
    /// A task that it knows to live.
    pub(crate) alive: Option<Uuid>,
}

impl Fake {
    /// The only executor of a scheduler.
    pub(crate) fn alone(self) -> ExecutorSet {
        only(self)
    }
}

/// The only executor of a scheduler, called `Executor`.
pub(crate) fn only(executor: impl Executor + 'static) -> ExecutorSet {
    let name = ExecutorName { alias: Some("Executor".into()), module_path: "test.Fake".into(), team: None };
    ExecutorSet::new([NamedExecutor { name: Arc::new(name), executor: Arc::new(executor) }])
}

impl Executor for Fake {
    fn slots(&self) -> Slots {
        Slots { all: 32, ..Slots::default() }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        panic!("chores submit nothing: {workloads:?}");
    }

    fn terminate(&self, id: Uuid) {
        panic!("chores end nothing: {id}");
    }

    fn supports(&self, kind: WorkloadKind) -> bool {
        match kind {
            WorkloadKind::ExecuteTask => true,
            WorkloadKind::ExecuteCallback => self.runs_callbacks,
            WorkloadKind::TestConnection => self.tests_connections,
        }
    }

    fn can_revoke(&self) -> bool {
        true
    }

    fn is_alive(&self, id: Uuid) -> bool {
        self.alive == Some(id)
    }

    fn may_have(&self, orphan: &Orphan) -> bool {
        orphan.has_begun
    }
}
