//! Python for a command, started when the DAG that it is about has something that only Python can say.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use ferroflow_db::Db;
use ferroflow_model::dag::Dag;
use ferroflow_operations::{OperationError, RunUserCode, Started, UserCode, has_user_code};
use ferroflow_python::task_instances::InstanceRules;
use ferroflow_python::timetables::Timetables;
use ferroflow_python::{ForkServer, survey};
use tokio::sync::Mutex;

use super::secrets::Keeper;
use crate::session::Session;

/// What was started, and how.
pub(crate) struct CommandUserCode {
    session: Session,
    db: Db,
    started: Mutex<Processes>,
}

#[derive(Default)]
struct Processes {
    python: Option<ForkServer>,
    /// Deadlines may stand in variables.
    secrets: Option<Keeper>,
}

impl CommandUserCode {
    pub(crate) fn new(session: &Session, db: &Db) -> Self {
        Self { session: session.clone(), db: db.clone(), started: Mutex::default() }
    }

    /// Ends what was started.
    pub(crate) async fn stop(&self) {
        let Processes { python, secrets } = std::mem::take(&mut *self.started.lock().await);
        if let Some(secrets) = secrets {
            secrets.close().await;
        }
        if let Some(python) = python {
            python.stop().await;
        }
    }

    async fn python(&self) -> Result<ForkServer> {
        let mut started = self.started.lock().await;
        if let Some(python) = &started.python {
            return Ok(python.clone());
        }
        let python = self.session.start_python().await?;
        Ok(started.python.insert(python).clone())
    }

    async fn for_runs(&self, dag: &Dag) -> Result<RunUserCode> {
        if !has_user_code(dag) && !self.may_have_hook() {
            return Ok(RunUserCode::default());
        }
        let secrets_backend = if dag.deadlines.is_empty() {
            None
        } else {
            let keeper = Keeper::open(&self.session, &self.db).await?;
            let backend = keeper.service().backend.clone();
            self.started.lock().await.secrets = Some(keeper);
            backend
        };
        let (python, limits) = (self.python().await?, &self.session.settings.ferroflow);
        let timetables = Timetables::new(python.clone(), limits.timetable_timeout);
        let rules = InstanceRules::new(python, limits.user_code_timeout);
        let (timetables, instance_rules) = (Some(Arc::new(timetables)), Some(Arc::new(rules)));
        Ok(RunUserCode { timetables, instance_rules, secrets_backend })
    }

    /// Whether there may be a mutation hook. Airflow lets only local settings have one, not packages; where no Python has
    /// Airflow, there is none.
    fn may_have_hook(&self) -> bool {
        let session = &self.session;
        let home = Path::new(session.configuration.airflow_home());
        let folders = [home.join("config"), session.settings.core.plugins_folder.clone()];
        session.interpreter().is_ok_and(|python| survey::may_have_local_settings(&python.path, &folders))
    }
}

impl UserCode for CommandUserCode {
    fn timetables(&self) -> Started<'_, Option<Arc<Timetables>>> {
        Box::pin(async {
            let python = self.python().await.map_err(not_started)?;
            let limit = self.session.settings.ferroflow.timetable_timeout;
            Ok(Some(Arc::new(Timetables::new(python, limit))))
        })
    }

    fn for_new_runs<'a>(&'a self, dag: &'a Dag) -> Started<'a, RunUserCode> {
        Box::pin(async move { self.for_runs(dag).await.map_err(not_started) })
    }
}

fn not_started(error: anyhow::Error) -> OperationError {
    OperationError::UserCode(error.into())
}
