//! The operations of `ferroflow_operations`, on behalf of the person who typed a command.

use std::ffi::OsString;
use std::iter;
use std::ops::Deref;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use ferroflow_db::{Db, Json, schema};
use ferroflow_model::state::TriggeredBy;
use ferroflow_operations::secrets::Secrets;
use ferroflow_operations::{Caller, OperationError, Operations};
use serde_json::json;

use super::audit::masking;
use super::user_code::CommandUserCode;
use crate::session::Session;

/// Operations, and the processes that were started for them.
pub(crate) struct Opened {
    operations: Operations,
    user_code: Arc<CommandUserCode>,
}

impl Deref for Opened {
    type Target = Operations;

    fn deref(&self) -> &Operations {
        &self.operations
    }
}

impl Opened {
    /// Ends Python, if it was started, and the connections.
    pub(crate) async fn close(self) {
        self.user_code.stop().await;
        self.operations.db.close().await;
    }
}

/// A database that has the tables this version works with.
pub(crate) async fn connect(session: &Session) -> Result<Db> {
    let db = session.connect().await?;
    schema::check(&db).await?;
    Ok(db)
}

/// Operations on such a database.
pub(crate) async fn open(session: &Session) -> Result<Opened> {
    let db = connect(session).await?;
    let user_code = Arc::new(CommandUserCode::new(session, &db));
    let operations = of(session, &db).with_user_code(Arc::clone(&user_code) as Arc<_>);
    Ok(Opened { operations, user_code })
}

/// The same, on a connection that is open, for what asks no user code.
pub(crate) fn of(session: &Session, db: &Db) -> Operations {
    let secrets = Secrets {
        db: db.clone(),
        fernet: Arc::clone(&session.fernet),
        environment: Arc::new(session.environment().clone()),
        backend: None,
    };
    Operations::new(Arc::clone(&session.settings), secrets, caller(session))
}

fn caller(session: &Session) -> Caller {
    let host = session.host();
    let (program, arguments) = session.environment().command_line();
    let words = iter::once(program.as_os_str()).chain(arguments.iter().map(OsString::as_os_str));
    let command = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let full_command = python_list(&masking::without_secrets(command));
    Caller {
        user: host.user.clone(),
        unixname: host.user,
        triggered_by: TriggeredBy::Cli,
        event_prefix: "cli_",
        audit_extra: Json::from(json!({"host_name": host.name, "full_command": full_command})),
    }
}

fn python_list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| crate::output::python_literal(word)).collect();
    format!("[{}]", words.join(", "))
}

/// What a rule refuses is told after what was not done; that something is not there, or cannot be read, as it is.
pub(crate) fn refused(what: &str, error: OperationError) -> anyhow::Error {
    match error {
        OperationError::Conflict(problem)
        | OperationError::Invalid(problem)
        | OperationError::Refused(problem) => anyhow!("{what}: {problem}"),
        other => other.into(),
    }
}
