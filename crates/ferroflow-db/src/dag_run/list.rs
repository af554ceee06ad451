//! `dag_run`s, as people ask for them.

use ferroflow_model::state::RunState;
use jiff::Timestamp;

use crate::dag_run::{self, DagRun};
use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// Which runs of a DAG are meant. What is not given restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The DAG.
    pub dag_id: String,
    /// Where they stand.
    pub state: Option<RunState>,
    /// Without those of backfills.
    pub without_backfills: bool,
    /// Their first logical date.
    pub from: Option<Timestamp>,
    /// Their last logical date.
    pub to: Option<Timestamp>,
}

/// The runs that are meant, the latest first.
pub async fn list(tx: &mut Tx, filter: &Filter) -> Result<Vec<DagRun>, Error> {
    let binds = binds![
        filter.dag_id.as_str(),
        filter.state.is_none(),
        filter.state.map(RunState::as_str),
        !filter.without_backfills,
        filter.from.is_none(),
        filter.from,
        filter.to.is_none(),
        filter.to,
    ];
    let rows = tx.fetch_all(sql!("dag_run/list"), binds).await?;
    rows.iter().map(dag_run::row::dag_run).collect()
}

/// The newest run of a DAG that stands for a date.
pub async fn of_date(tx: &mut Tx, dag_id: &str, logical_date: Timestamp) -> Result<Option<DagRun>, Error> {
    let row = tx.fetch_optional(sql!("dag_run/find_by_date"), binds![dag_id, logical_date]).await?;
    row.as_ref().map(dag_run::row::dag_run).transpose()
}
