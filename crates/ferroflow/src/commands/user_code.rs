//! Python for a command, started when the DAG that it is about has something that only Python can say.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use ferroflow_db::Db;
use ferroflow_model::dag::Dag;
use ferroflow_operations::{OperationError, RunUserCode, Started, UserCode, has_user_code};
use ferroflow_python::timetables::Timetables;
use ferroflow_python::{ForkServer, RunExtensions, survey};
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

    async fn extensions(&self) -> Result<RunExtensions> {
        let mut started = self.started.lock().await;
        let python = if let Some(python) = &started.python {
            python
        } else {
            let python = self.session.start_python().await?;
            started.python.insert(python)
        };
        Ok(RunExtensions::new(python, &self.session.settings))
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
        let RunExtensions { timetables, rules } = self.extensions().await?;
        Ok(RunUserCode { timetables: Some(timetables), instance_rules: Some(rules), secrets_backend })
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
            let extensions = self.extensions().await.map_err(not_started)?;
            Ok(Some(extensions.timetables))
        })
    }

    fn for_new_runs<'a>(&'a self, dag: &'a Dag) -> Started<'a, RunUserCode> {
        Box::pin(async move { self.for_runs(dag).await.map_err(not_started) })
    }
}

fn not_started(error: anyhow::Error) -> OperationError {
    OperationError::UserCode(error.into())
}
