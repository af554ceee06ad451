use ferroflow_db::pool::DescribedPool;

use super::{list, unknown};
use crate::{OperationError, Operations};

pub async fn get(operations: &Operations, name: &str) -> Result<DescribedPool, OperationError> {
    let mut pools = list(operations).await?;
    match pools.iter().position(|pool| pool.name == name) {
        Some(at) => Ok(pools.swap_remove(at)),
        None => Err(unknown(name, &pools)),
    }
}
