//! How large the database is.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::schema::table_size;
pub use ferroflow_db::schema::table_size::Rows;

use crate::{OperationError, Operations};

/// The tables that grow.
const TABLES: [&str; 5] = ["dag", "dag_run", "task_instance", "log", "xcom"];
/// Up to so many rows are counted.
const MAX_COUNTED: u32 = 100_000;

/// How many rows the tables that grow have.
pub async fn list(operations: &Operations) -> Result<Vec<(&'static str, Rows)>, OperationError> {
    let sizes = operations.db.read(|tx| {
        async move {
            let mut sizes = Vec::new();
            for table in TABLES {
                sizes.push((table, table_size::rows(tx, table, MAX_COUNTED).await?));
            }
            Ok(sizes)
        }
        .scope_boxed()
    });
    Ok(sizes.await?)
}
