//! The operations of `ferroflow_operations`, on behalf of the person who typed a command.

use std::ffi::OsString;
use std::iter;
use std::ops::Deref;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use ferroflow_db::{Db, Json, schema};
use ferroflow_model::state::TriggeredBy;
use ferroflow_operations::secrets::Secrets;
use ferroflow_operations::{AuditAction, Caller, OperationError, Operations};
use serde_json::json;

use super::masking;
use super::secrets::Keeper;
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

/// Has the backend of `[secrets] backend` asked, too, as long as the work goes on. Python is started if there is one.
pub(crate) async fn with_backend<T>(
    session: &Session,
    work: impl AsyncFnOnce(&Operations) -> Result<T>,
) -> Result<T> {
    let opened = open(session).await?;
    let keeper = Keeper::open(session, &opened.db).await?;
    let secrets = Secrets { backend: keeper.service().backend.clone(), ..opened.secrets.clone() };
    let outcome = work(&Operations { secrets, ..opened.operations.clone() }).await;
    keeper.close().await;
    outcome
}

/// What a request is made of. Where there is none, since a file cannot be read, say, the audit log has the attempt all the
/// same, as Airflow's has: its commands write to it before they look at what they are given.
pub(crate) async fn logged_if_failed<T>(
    operations: &Operations,
    action: &AuditAction<'_>,
    read: Result<T>,
) -> Result<T> {
    if read.is_err() {
        operations.audit(action).await;
    }
    read
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
