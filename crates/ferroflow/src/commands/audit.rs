//! The log of who did what: a row for each command that changes something, as Airflow's commands write it.

pub(super) mod masking;

use ferroflow_db::Db;

use super::operations;
use crate::session::Session;

pub(crate) use ferroflow_operations::AuditAction;

/// Writes down what is about to be done. That this fails is no reason not to do it.
pub(crate) async fn note_deed(session: &Session, db: &Db, action: &AuditAction<'_>) {
    operations::of(session, db).audit(action).await;
}
