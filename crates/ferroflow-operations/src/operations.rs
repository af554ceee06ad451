//! What every verb works with.

use std::sync::Arc;

use ferroflow_config::Settings;
use ferroflow_db::Db;

use crate::secrets::Secrets;
use crate::{Caller, RunUserCode, UserCode};

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
}
