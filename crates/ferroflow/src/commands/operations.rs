//! The operations of `ferroflow_operations`, on behalf of whoever typed a command.

use std::ffi::OsString;
use std::iter;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use ferroflow_dagproc::Context;
use ferroflow_db::{Db, Json, schema};
use ferroflow_model::state::TriggeredBy;
use ferroflow_operations::secrets::Secrets;
use ferroflow_operations::{AuditAction, Caller, Operations};
use serde_json::json;

use super::audit::masking;
use crate::session::Session;

/// Operations on a database that has the tables this version works with.
pub(crate) async fn open(session: &Session) -> Result<Operations> {
    let db = session.connect().await?;
    schema::check(&db).await?;
    Ok(of(session, &db))
}

/// The same, on a connection that is open. No secrets backend is asked.
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
    let operations = open(session).await?;
    if session.settings.secrets.backend.is_none() {
        return work(&operations).await;
    }
    let started = Context::start(session.parts(&operations.db, session.host())?).await;
    let context = started.context("the secrets backend cannot be asked")?;
    let outcome = work(&Operations { secrets: context.service().secrets(), ..operations }).await;
    context.close().await;
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
