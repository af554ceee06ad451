use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::pool::{self, DescribedPool};

use crate::{AuditAction, OperationError, Operations};

const MAX_NAME_LENGTH: usize = 256;

/// Makes a pool, or changes the one of that name.
pub async fn set(operations: &Operations, pool: &DescribedPool) -> Result<(), OperationError> {
    operations.audit(&AuditAction::named("pool_set")).await;
    store(operations, pool).await
}

pub(super) async fn store(operations: &Operations, pool: &DescribedPool) -> Result<(), OperationError> {
    if pool.name.trim().is_empty() {
        return Err(OperationError::value_error("Pool name shouldn't be empty"));
    }
    if pool.name.chars().count() > MAX_NAME_LENGTH {
        let problem = format!("Pool name cannot be more than {MAX_NAME_LENGTH} characters");
        return Err(OperationError::value_error(problem));
    }
    if pool.team_name.is_some() && !operations.settings.core.multi_team {
        let problem = format!("pool {} cannot have a team: [core] multi_team is off", pool.name);
        return Err(OperationError::value_error(problem));
    }
    Ok(operations.db.transact(|tx| async move { pool::set(tx, pool).await }.scope_boxed()).await?)
}
