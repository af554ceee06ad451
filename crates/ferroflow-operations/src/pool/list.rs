use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::pool::{self, DescribedPool};

use crate::{OperationError, Operations};

/// All pools, in the order in which they were made.
pub async fn list(operations: &Operations) -> Result<Vec<DescribedPool>, OperationError> {
    Ok(operations.db.read(|tx| async move { pool::list(tx).await }.scope_boxed()).await?)
}
