//! Task instances of all runs, in pages.

use crate::list::{ListRequest, Listed};
use crate::statement::sql;
use crate::task_instance::TaskInstance;
use crate::task_instance::fields::FIELDS;
use crate::task_instance::row::task_instance;
use crate::{Error, Tx};

pub async fn page(tx: &mut Tx, request: &ListRequest) -> Result<Listed<TaskInstance>, Error> {
    let Listed { rows, next, previous } = tx.list(sql!("task_instance/list"), &FIELDS, request).await?;
    Ok(Listed { rows: tx.readable(&rows, task_instance)?, next, previous })
}

/// How many task instances there are on all pages, counted up to a limit.
pub async fn total(tx: &mut Tx, request: &ListRequest, limit: Option<u32>) -> Result<i64, Error> {
    tx.list_total(sql!("task_instance/list_total"), &FIELDS, request, limit).await
}
