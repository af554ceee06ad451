//! What every verb works with.

use std::sync::Arc;

use ferroflow_config::Settings;
use ferroflow_db::Db;
use ferroflow_model::dag::Dag;

use crate::dag_run::RunMaking;
use crate::secrets::Secrets;
use crate::{Caller, OperationError, RunUserCode, UserCode};

/// What every verb works with, on behalf of one caller. Cheap to clone: a server makes one for each request.
#[derive(Clone)]
pub struct Operations {
    /// The metadata database.
    pub db: Db,
    pub settings: Arc<Settings>,
    /// Where variables and connections come from.
    pub secrets: Secrets,
    /// Who is asked what only Python can say.
    pub user_code: Arc<dyn UserCode>,
    /// On whose behalf.
    pub caller: Caller,
}

impl Operations {
    /// Operations that ask no user code: DAGs that need it are refused.
    pub fn new(settings: Arc<Settings>, secrets: Secrets, caller: Caller) -> Self {
        let user_code = Arc::new(RunUserCode::default());
        Self { db: secrets.db.clone(), settings, secrets, user_code, caller }
    }

    #[must_use]
    pub fn with_user_code(self, user_code: Arc<dyn UserCode>) -> Self {
        Self { user_code, ..self }
    }

    /// What makes runs of a DAG, and where their deadlines look up variables.
    pub(crate) async fn run_making(&self, dag: &Dag) -> Result<(RunMaking, Secrets), OperationError> {
        let user_code = self.user_code.for_new_runs(dag).await?;
        let making = RunMaking::new(&self.settings, self.caller.unixname.clone(), user_code.timetables)?;
        let making = match user_code.instance_rules {
            Some(rules) => making.with_rules(rules),
            None => making,
        };
        let backend = user_code.secrets_backend.or_else(|| self.secrets.backend.clone());
        Ok((making, Secrets { backend, ..self.secrets.clone() }))
    }
}
