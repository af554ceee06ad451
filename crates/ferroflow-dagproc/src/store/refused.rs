//! Which DAGs of a file the database refuses, found by trying.
//!
//! Most values that do not fit are known beforehand (`fits.rs`). Whatever else a database may have against a DAG, its
//! siblings are stored.

use ferroflow_db::{Db, Error, ScopedFutureExt as _};

use super::prepare::{PreparedDag, RefusedDag};
use super::write::{Job, write};

/// Whether it may be about one DAG of a file, and not about the others.
pub(super) fn is_about_a_dag(error: &Error) -> bool {
    error.is_about_data() || is_unreadable(error)
}

fn is_unreadable(error: &Error) -> bool {
    matches!(error, Error::Column(_))
}

/// The DAGs that cannot be stored, alone or beside those before them, and those of which a row cannot be read. Halves of
/// the file are tried, then halves of those that fail, so that few bad ones among many cost few trials.
pub(super) async fn find(db: &Db, job: &Job<'_>) -> Result<(Vec<RefusedDag>, Vec<RefusedDag>), Error> {
    let (mut accepted, mut refused, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
    let mut open: Vec<&[&PreparedDag]> = vec![&job.dags];
    while let Some(dags) = open.pop() {
        let tried = accepted.iter().chain(dags).copied().collect();
        match rehearse(db, &Job { dags: tried, ..job.clone() }).await {
            Ok(()) => accepted.extend(dags),
            Err(error) if is_about_a_dag(&error) => {
                if let [dag] = dags {
                    let (list, what) = if is_unreadable(&error) {
                        (&mut unreadable, "it stays as it is until a row of it is mended.")
                    } else {
                        (&mut refused, "the database refuses it.")
                    };
                    list.push(RefusedDag::because(dag.id(), &format!("{what}\n{error}")));
                } else {
                    let (first, second) = dags.split_at(dags.len() / 2);
                    open.extend([second, first]);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok((refused, unreadable))
}

async fn rehearse(db: &Db, job: &Job<'_>) -> Result<(), Error> {
    db.rehearse(|tx| async move { write(tx, job).await }.scope_boxed()).await.map(drop)
}
