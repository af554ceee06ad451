//! Which DAGs of a file the database refuses, found by trying.
//!
//! Most values that do not fit are known beforehand (`fits.rs`). Whatever else a database may have against a DAG, its
//! siblings are stored.

use ferroflow_db::{Db, Error, ScopedFutureExt as _};

use super::prepare::{PreparedDag, RefusedDag};
use super::write::{Job, write};

/// The DAGs that cannot be stored, alone or beside those before them. Halves of the file are tried, then halves of
/// those that fail, so that few bad ones among many cost few trials.
pub(super) async fn find(db: &Db, job: &Job<'_>) -> Result<Vec<RefusedDag>, Error> {
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    let mut open: Vec<&[&PreparedDag]> = vec![&job.dags];
    while let Some(dags) = open.pop() {
        let tried = accepted.iter().chain(dags).copied().collect();
        match rehearse(db, &Job { dags: tried, ..job.clone() }).await {
            Ok(()) => accepted.extend(dags),
            Err(error) if error.is_about_data() => {
                if let [dag] = dags {
                    refused
                        .push(RefusedDag::because(dag.id(), &format!("the database refuses it.\n{error}")));
                } else {
                    let (first, second) = dags.split_at(dags.len() / 2);
                    open.extend([second, first]);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(refused)
}

async fn rehearse(db: &Db, job: &Job<'_>) -> Result<(), Error> {
    db.rehearse(|tx| async move { write(tx, job).await }.scope_boxed()).await.map(drop)
}
