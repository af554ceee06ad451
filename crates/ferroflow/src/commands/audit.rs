//! The log of who did what: a row for each command that changes something, as Airflow's commands write it.

mod masking;

use std::ffi::OsString;
use std::iter;

use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::{Db, Json, ScopedFutureExt as _};
use ferroflow_telemetry::{chain, clock};
use jiff::Timestamp;
use serde_json::json;

use crate::session::Session;

/// What a command is about to do, and to what.
#[derive(Debug, Default)]
pub(crate) struct AuditAction<'a> {
    /// The name that Airflow gives to the command.
    pub(crate) event: &'a str,
    pub(crate) dag_id: Option<&'a str>,
    pub(crate) task_id: Option<&'a str>,
    pub(crate) logical_date: Option<Timestamp>,
}

/// Writes down what is about to be done. That this fails is no reason not to do it.
pub(crate) async fn note_deed(session: &Session, db: &Db, action: &AuditAction<'_>) {
    let host = session.host();
    let (program, arguments) = session.environment().command_line();
    let words = iter::once(program.as_os_str()).chain(arguments.iter().map(OsString::as_os_str));
    let command = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let full_command = python_list(&masking::without_secrets(command));
    let extra = Json::from(json!({"host_name": host.name, "full_command": full_command}));
    let entry = &AuditEntry {
        dttm: Some(clock::now()),
        event: format!("cli_{}", action.event),
        dag_id: action.dag_id.map(str::to_owned),
        run_id: None,
        task_id: action.task_id.map(str::to_owned),
        map_index: None,
        try_number: None,
        logical_date: action.logical_date,
        owner: Some(host.user),
        owner_display_name: None,
        extra: Some(extra.into_text()),
    };
    let written = db.transact(|tx| async move { audit_log::insert(tx, entry).await }.scope_boxed());
    if let Err(error) = written.await {
        tracing::warn!("what was done is not in the log: {}", chain(&error));
    }
}

fn python_list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| crate::output::python_literal(word)).collect();
    format!("[{}]", words.join(", "))
}
