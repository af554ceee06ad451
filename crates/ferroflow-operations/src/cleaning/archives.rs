use std::sync::{Mutex, PoisonError};

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::cleaning::{self, Table};

use crate::{AuditAction, OperationError, Operations};

/// Tables that old rows are kept in.
pub struct Archives<'a> {
    operations: &'a Operations,
    pub names: Vec<String>,
}

/// What is done to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Export,
    Drop,
}

/// The tables of old rows of some tables. Nothing is done to them yet.
pub async fn archives<'a>(
    operations: &'a Operations,
    of: &[Table],
    purpose: Purpose,
) -> Result<Archives<'a>, OperationError> {
    let event = match purpose {
        Purpose::Export => "export_archived",
        Purpose::Drop => "drop_archived",
    };
    operations.audit(&AuditAction::named(event)).await;
    let of: Vec<&Table> = of.iter().collect();
    let of = of.as_slice();
    let names = operations.db.read(|tx| async move { cleaning::archives(tx, of).await }.scope_boxed());
    Ok(Archives { operations, names: names.await? })
}

impl Archives<'_> {
    pub async fn columns(&self, name: &str) -> Result<Vec<String>, OperationError> {
        let db = &self.operations.db;
        Ok(db.read(|tx| async move { cleaning::columns(tx, name).await }.scope_boxed()).await?)
    }

    /// Shows all rows of one until `see` has seen enough: the text of each value.
    pub async fn each_row(
        &self,
        name: &str,
        see: impl FnMut(Vec<Option<String>>) -> bool + Send,
    ) -> Result<(), OperationError> {
        let see = &Mutex::new(see);
        let read = self.operations.db.read(|tx| {
            async move {
                let see = |row| see.lock().unwrap_or_else(PoisonError::into_inner)(row);
                cleaning::each_row(tx, name, see).await
            }
            .scope_boxed()
        });
        Ok(read.await?)
    }

    pub async fn drop(&self, name: &str) -> Result<(), OperationError> {
        let db = &self.operations.db;
        Ok(db.transact(|tx| async move { cleaning::drop_archive(tx, name).await }.scope_boxed()).await?)
    }
}
