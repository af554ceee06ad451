//! The audit log: a row in `log` for each request that changes something.

use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::{Json, ScopedFutureExt as _};
use ferroflow_model::state::TriggeredBy;
use ferroflow_telemetry::{chain, clock};
use jiff::Timestamp;

use crate::Operations;

/// Who asks, and how the request came.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The name of the user, which rows have as owner or as `triggering_user_name`.
    pub user: String,
    /// The user of the operating system that this process runs as, which task instances have as `unixname`.
    pub unixname: String,
    /// How the request came, as runs note it.
    pub triggered_by: TriggeredBy,
    /// What stands before the names of events: `cli_` for commands.
    pub event_prefix: &'static str,
    /// What the audit log says of the request besides: of a command, its host and its words without secrets.
    pub audit_extra: Json,
}

/// What a verb is about to do, and to what.
#[derive(Clone, Debug, Default)]
pub struct AuditAction<'a> {
    /// The name that Airflow gives to the command or the route.
    pub event: &'a str,
    pub dag_id: Option<&'a str>,
    pub task_id: Option<&'a str>,
    pub logical_date: Option<Timestamp>,
}

impl<'a> AuditAction<'a> {
    /// An event that is about no DAG.
    pub const fn named(event: &'a str) -> Self {
        Self { event, dag_id: None, task_id: None, logical_date: None }
    }
}

impl Operations {
    /// Writes down what is about to be done, as Airflow does before it looks whether it can be: every verb that changes
    /// something begins with it. That this fails is no reason not to do it.
    pub async fn audit(&self, action: &AuditAction<'_>) {
        let Caller { user, event_prefix, audit_extra, .. } = &self.caller;
        let entry = &AuditEntry {
            dttm: Some(clock::now()),
            event: format!("{event_prefix}{}", action.event),
            dag_id: action.dag_id.map(str::to_owned),
            run_id: None,
            task_id: action.task_id.map(str::to_owned),
            map_index: None,
            try_number: None,
            logical_date: action.logical_date,
            owner: Some(user.clone()),
            owner_display_name: None,
            extra: Some(audit_extra.text().to_owned()),
        };
        let written = self.db.transact(|tx| async move { audit_log::insert(tx, entry).await }.scope_boxed());
        if let Err(error) = written.await {
            tracing::warn!("what was done is not in the audit log: {}", chain(&error));
        }
    }
}
