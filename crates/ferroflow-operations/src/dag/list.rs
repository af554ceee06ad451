//! DAGs with all that is stored about them.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag::list::{self as rows, TaggedDag};
use ferroflow_db::import_error;

use super::unknown;
use crate::{OperationError, Operations};

/// The DAGs of some bundles.
pub struct ListedDags {
    pub dags: Vec<TaggedDag>,
    /// How many files of the bundles cannot be imported.
    pub import_errors: usize,
}

/// The DAGs that have a serialized form, stale ones too, of these bundles; of all if none is named.
pub async fn list(operations: &Operations, bundles: &[String]) -> Result<ListedDags, OperationError> {
    let read = operations.db.read(|tx| {
        async move { Ok((rows::list(tx).await?, import_error::count_by_bundle(tx).await?)) }.scope_boxed()
    });
    let (mut dags, errors) = read.await?;
    let is_meant = |bundle: Option<&str>| {
        bundles.is_empty() || bundle.is_some_and(|name| bundles.iter().any(|bundle| bundle == name))
    };
    dags.retain(|dag| is_meant(Some(&dag.dag.bundle_name)));
    let import_errors = errors.iter().filter(|(bundle, _)| is_meant(bundle.as_deref())).count();
    Ok(ListedDags { dags, import_errors })
}

pub async fn details(operations: &Operations, dag_id: &str) -> Result<TaggedDag, OperationError> {
    let read = operations.db.read(|tx| async move { rows::find_tagged(tx, dag_id).await }.scope_boxed());
    match read.await? {
        Some(dag) => Ok(dag),
        None => Err(unknown(&operations.db, dag_id).await),
    }
}

/// The same for several DAGs, those that are there.
pub async fn details_of(
    operations: &Operations,
    dag_ids: &[&str],
) -> Result<Vec<Option<TaggedDag>>, OperationError> {
    let read = operations.db.read(|tx| {
        async move {
            let mut found = Vec::with_capacity(dag_ids.len());
            for dag_id in dag_ids {
                found.push(rows::find_tagged(tx, dag_id).await?);
            }
            Ok(found)
        }
        .scope_boxed()
    });
    Ok(read.await?)
}
