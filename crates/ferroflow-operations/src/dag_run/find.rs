//! A run, by its name or by its logical date.

use ferroflow_config::nearest;
use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag_run::list::{self, Filter};
use ferroflow_db::dag_run::{self, DagRun};
use jiff::Timestamp;

use crate::{OperationError, Operations};

/// A run as it is asked for: by its name, or else by the date that the same text is.
#[derive(Clone, Copy, Debug)]
pub struct RunName<'a> {
    pub dag_id: &'a str,
    pub text: &'a str,
    pub logical_date: Option<Timestamp>,
}

/// The run of that name, or else that of that date.
pub async fn find_if_there(
    operations: &Operations,
    name: RunName<'_>,
) -> Result<Option<DagRun>, OperationError> {
    let RunName { dag_id, text, logical_date } = name;
    let found = operations.db.read(|tx| {
        async move {
            if let Some(run) = dag_run::find(tx, dag_id, text).await? {
                return Ok(Some(run));
            }
            match logical_date {
                Some(date) => list::of_date(tx, dag_id, date).await,
                None => Ok(None),
            }
        }
        .scope_boxed()
    });
    Ok(found.await?)
}

/// The same, where there has to be one.
pub async fn find(operations: &Operations, name: RunName<'_>) -> Result<DagRun, OperationError> {
    if let Some(run) = find_if_there(operations, name).await? {
        return Ok(run);
    }
    let RunName { dag_id, text, .. } = name;
    let filter = &Filter { dag_id: dag_id.to_owned(), ..Filter::default() };
    let runs = operations.db.read(|tx| async move { list::list(tx, filter).await }.scope_boxed()).await?;
    let near: Vec<&str> = nearest(text, runs.iter().map(|run| run.run_id.as_str()).collect()).collect();
    let help = match near.as_slice() {
        [] if runs.is_empty() => "it has no runs".to_owned(),
        [] => format!("`ferroflow dags list-runs {dag_id}` shows those that there are"),
        near => format!("did you mean {}?", near.join(", ")),
    };
    let message = format!("DAG {dag_id:?} has no run of the name or logical date {text:?}; {help}");
    Err(OperationError::not_found(message))
}
