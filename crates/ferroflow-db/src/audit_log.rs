//! `log`: who did what, and to which task instance.

use jiff::Timestamp;

use crate::statement::{Row, binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::{Error, Tx};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub dttm: Option<Timestamp>,
    /// What.
    pub event: String,
    /// To which DAG.
    pub dag_id: Option<String>,
    /// To which run.
    pub run_id: Option<String>,
    /// To which task.
    pub task_id: Option<String>,
    /// To which of its mapped copies.
    pub map_index: Option<i32>,
    /// In which try.
    pub try_number: Option<i32>,
    /// The logical date of the run.
    pub logical_date: Option<Timestamp>,
    /// Who did it, or whose task it is.
    pub owner: Option<String>,
    /// What people call them.
    pub owner_display_name: Option<String>,
    /// More about it.
    pub extra: Option<String>,
}

/// Writes an entry.
pub async fn insert(tx: &mut Tx, entry: &AuditEntry) -> Result<(), Error> {
    let binds = binds![
        entry.dttm,
        entry.event.as_str(),
        entry.dag_id.as_deref(),
        entry.run_id.as_deref(),
        entry.task_id.as_deref(),
        entry.map_index,
        entry.try_number,
        entry.logical_date,
        entry.owner.as_deref(),
        entry.owner_display_name.as_deref(),
        entry.extra.as_deref(),
    ];
    tx.execute(sql!("log/insert"), binds).await?;
    Ok(())
}

/// The newest entry about an event in one try of a task instance.
pub async fn newest(
    tx: &mut Tx,
    key: &TaskInstanceKey,
    try_number: i32,
    event: &str,
) -> Result<Option<AuditEntry>, Error> {
    let binds = binds![
        key.dag_id.as_str(),
        key.run_id.as_str(),
        key.task_id.as_str(),
        key.map_index,
        try_number,
        event,
    ];
    let row = tx.fetch_optional(sql!("log/newest"), binds).await?;
    row.as_ref().map(entry).transpose()
}

fn entry(row: &Row) -> Result<AuditEntry, Error> {
    Ok(AuditEntry {
        dttm: row.optional("dttm")?,
        event: row.get("event")?,
        dag_id: row.optional("dag_id")?,
        run_id: row.optional("run_id")?,
        task_id: row.optional("task_id")?,
        map_index: row.optional("map_index")?,
        try_number: row.optional("try_number")?,
        logical_date: row.optional("logical_date")?,
        owner: row.optional("owner")?,
        owner_display_name: row.optional("owner_display_name")?,
        extra: row.optional("extra")?,
    })
}
