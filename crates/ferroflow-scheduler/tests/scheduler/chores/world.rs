//! A scheduler on a database, and executors that run nothing.

use std::sync::Arc;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::Db;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_execution::{MaskRules, Masker, Refusal, Rules, Service};
use ferroflow_executor::{Adopted, Orphan};
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::chores::{Executors, KeptBack, Unsettled};
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
            masker: Arc::new(Masker::new(MaskRules::default())),
            rules: Rules::of(&settings),
        },
        timetables: None,
        definitions: Definitions::new(SignedDuration::ZERO),
        unsettled: Unsettled::default(),
        kept_back: KeptBack::default(),
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

impl Executors for Fake {
    fn has(&self, executor: Option<&str>) -> bool {
        executor.is_none_or(|name| name == "Executor")
    }

    fn is_alive(&self, id: Uuid) -> bool {
        self.alive == Some(id)
    }

    async fn adopt(&self, orphan: &Orphan) -> Result<Adopted, Refusal> {
        Ok(match orphan.state {
            TaskState::Running | TaskState::Restarting => Adopted::Elsewhere,
            _ => Adopted::NotBegun,
        })
    }

    fn can_take_back(&self, executor: Option<&str>) -> bool {
        self.has(executor)
    }

    fn runs_callbacks(&self, _executor: Option<&str>) -> bool {
        self.runs_callbacks
    }

    fn tests_connections(&self, _executor: Option<&str>) -> bool {
        self.tests_connections
    }

    fn free_slots(&self) -> usize {
        32
    }
}
