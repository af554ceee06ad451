//! A run, by its name or by its logical date.

use anyhow::{Result, anyhow};
use ferroflow_config::{Configuration, nearest};
use ferroflow_db::dag_run::list::Filter;
use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::{Db, ScopedFutureExt as _};

use super::foreground::logical_date;

/// The run of that name, or else that of that date.
pub(crate) async fn find_run(
    db: &Db,
    configuration: &Configuration,
    dag_id: &str,
    text: &str,
) -> Result<Option<DagRun>> {
    // What is no date is a name that no run has.
    let date = logical_date(text, configuration).ok();
    let found = db.read(|tx| {
        async move {
            if let Some(run) = dag_run::find(tx, dag_id, text).await? {
                return Ok(Some(run));
            }
            match date {
                Some(date) => dag_run::list::of_date(tx, dag_id, date).await,
                None => Ok(None),
            }
        }
        .scope_boxed()
    });
    Ok(found.await?)
}

/// The same, where there has to be one.
pub(crate) async fn require_run(
    db: &Db,
    configuration: &Configuration,
    dag_id: &str,
    text: &str,
) -> Result<DagRun> {
    if let Some(run) = find_run(db, configuration, dag_id, text).await? {
        return Ok(run);
    }
    let filter = &Filter { dag_id: dag_id.to_owned(), ..Filter::default() };
    let runs = db.read(|tx| async move { dag_run::list::list(tx, filter).await }.scope_boxed()).await?;
    let near: Vec<&str> = nearest(text, runs.iter().map(|run| run.run_id.as_str()).collect()).collect();
    let help = match near.as_slice() {
        [] if runs.is_empty() => "it has no runs".to_owned(),
        [] => format!("`ferroflow dags list-runs {dag_id}` shows those that there are"),
        near => format!("did you mean {}?", near.join(", ")),
    };
    Err(anyhow!("DAG {dag_id:?} has no run of the name or logical date {text:?}; {help}"))
}
