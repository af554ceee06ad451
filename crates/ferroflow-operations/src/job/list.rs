use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag;
use ferroflow_db::job::{self, Job};
use ferroflow_model::state::JobState;

use crate::{OperationError, Operations};

#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    pub dag_id: Option<String>,
    pub state: Option<JobState>,
    pub limit: Option<u32>,
}

/// Jobs, those first that started last.
pub async fn list(operations: &Operations, request: &ListRequest) -> Result<Vec<Job>, OperationError> {
    let ListRequest { dag_id, state, limit } = request;
    let (dag_id, state, limit) = (dag_id.as_deref(), *state, limit.map_or(i64::MAX, i64::from));
    let found = operations.db.read(|tx| {
        async move {
            if let Some(dag_id) = dag_id
                && dag::find(tx, dag_id).await?.is_none()
            {
                return Ok(None);
            }
            job::list(tx, dag_id, state, limit).await.map(Some)
        }
        .scope_boxed()
    });
    match (found.await?, dag_id) {
        (None, Some(dag_id)) => Err(crate::dag::unknown(&operations.db, dag_id).await),
        (found, _) => Ok(found.unwrap_or_default()),
    }
}
