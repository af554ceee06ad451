//! Which DAGs of a file the database refuses, found by trying.
//!
//! Most values that do not fit are known beforehand (`fits.rs`). Whatever else a database may have against a DAG, its
//! siblings are stored.

use ferroflow_db::{Db, Error, ScopedFutureExt as _};

use super::prepare::{PreparedDag, RefusedDag};
use super::write::{Job, write};

/// How many DAGs are tried alone before it is believed that the database takes none.
const ENOUGH: usize = 20;

/// DAGs that are left out when their file is stored, and why.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Those with a value that the database refuses.
    pub(super) refused: Vec<RefusedDag>,
    /// Those of which a row cannot be read.
    pub(super) unreadable: Vec<RefusedDag>,
    /// Those that something else in the database keeps from being stored: a trigger, say, or a row that refers to them.
    pub(super) kept_back: Vec<RefusedDag>,
}

impl LeftOut {
    pub(super) fn contains(&self, dag_id: &str) -> bool {
        let all = self.refused.iter().chain(&self.unreadable).chain(&self.kept_back);
        all.into_iter().any(|left_out| left_out.dag_id.as_deref() == Some(dag_id))
    }

    fn add(&mut self, dag_id: &str, error: &Error) {
        let (list, what) = if is_unreadable(error) {
            (&mut self.unreadable, "it stays as it is until a row of it is mended.")
        } else if error.is_about_data() {
            (&mut self.refused, "the database refuses it.")
        } else {
            (&mut self.kept_back, "the database does not let it be written.")
        };
        list.push(RefusedDag::because(dag_id, &format!("{what}\n{error}")));
    }
}

/// Whether it may be about one DAG of a file, and not about the others.
pub(super) fn is_about_a_dag(error: &Error) -> bool {
    is_unreadable(error) || (matches!(error, Error::Query { .. }) && !error.is_transient())
}

fn is_unreadable(error: &Error) -> bool {
    matches!(error, Error::Column(_))
}

/// The DAGs that cannot be stored, alone or beside those before them, and those of which a row cannot be read. Halves of
/// the file are tried, then halves of those that fail, so that few bad ones among many cost few trials.
///
/// Where none can be stored, and no value is at fault, it is not about them: that is an error.
pub(super) async fn find(db: &Db, job: &Job<'_>) -> Result<LeftOut, Error> {
    let (mut accepted, mut left_out, mut first) = (Vec::new(), LeftOut::default(), None);
    let mut open: Vec<&[&PreparedDag]> = vec![&job.dags];
    while let Some(dags) = open.pop() {
        let tried = accepted.iter().chain(dags).copied().collect();
        match rehearse(db, &Job { dags: tried, takes_out_of_service: false, ..job.clone() }).await {
            Ok(()) => accepted.extend(dags),
            Err(error) if is_about_a_dag(&error) => {
                if let [dag] = dags {
                    left_out.add(dag.id(), &error);
                    first.get_or_insert(error);
                } else {
                    let (one, other) = dags.split_at(dags.len() / 2);
                    open.extend([other, one]);
                }
            }
            Err(error) => return Err(error),
        }
        let kept_back = left_out.kept_back.len();
        let is_about_all = accepted.is_empty()
            && left_out.refused.len() + left_out.unreadable.len() == 0
            && kept_back >= ENOUGH.min(job.dags.len());
        if is_about_all && let Some(first) = first.take() {
            return Err(first);
        }
    }
    Ok(left_out)
}

async fn rehearse(db: &Db, job: &Job<'_>) -> Result<(), Error> {
    db.rehearse(|tx| async move { write(tx, job).await }.scope_boxed()).await.map(drop)
}
