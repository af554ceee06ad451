//! `dag_run`s, as people ask for them.

use ferroflow_model::state::{RunState, RunType};
use jiff::Timestamp;

use crate::dag_run::DagRun;
use crate::dag_run::fields::FIELDS;
use crate::dag_run::row::dag_run;
use crate::list::{Condition, ListRequest, Listed};
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
    let mut request = ListRequest::new()
        .filter("dag_id", Condition::is(filter.dag_id.as_str()))
        .filter_if("state", filter.state, |state| Condition::is(state.as_str()))
        .filter_if("logical_date", filter.from, |from| Condition::AtLeast(from.into()))
        .filter_if("logical_date", filter.to, |to| Condition::AtMost(to.into()));
    if filter.without_backfills {
        request = request.filter("run_type", Condition::is(RunType::Backfill.as_str()).negated());
    }
    let request = request.order_by(["-run_after", "logical_date", "id"]);
    tx.list(sql!("dag_run/list"), &FIELDS, &request).await?.rows.iter().map(dag_run).collect()
}

/// A page of the runs of all DAGs.
pub async fn page(tx: &mut Tx, request: &ListRequest) -> Result<Listed<DagRun>, Error> {
    let Listed { rows, next, previous } = tx.list(sql!("dag_run/list"), &FIELDS, request).await?;
    Ok(Listed { rows: tx.readable(&rows, dag_run)?, next, previous })
}

/// How many runs there are on all pages, counted up to a limit.
pub async fn total(tx: &mut Tx, request: &ListRequest, limit: Option<u32>) -> Result<i64, Error> {
    tx.list_total(sql!("dag_run/list_total"), &FIELDS, request, limit).await
}

/// The newest run of a DAG that stands for a date.
pub async fn of_date(tx: &mut Tx, dag_id: &str, logical_date: Timestamp) -> Result<Option<DagRun>, Error> {
    let row = tx.fetch_optional(sql!("dag_run/find_by_date"), binds![dag_id, logical_date]).await?;
    row.as_ref().map(dag_run).transpose()
}
