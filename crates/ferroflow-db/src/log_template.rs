//! `log_template`: where the log files of a run's tasks are, as configured when the run was created.

use jiff::Timestamp;

use crate::statement::{Row, binds, sql};
use crate::{Error, Tx};

/// Where logs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTemplate {
    /// `[logging] log_filename_template`.
    pub filename: String,
    /// `[elasticsearch] log_id_template`.
    pub elasticsearch_id: String,
}

/// What the configuration says about it.
#[derive(Clone, Debug)]
pub struct LogTemplates {
    /// What holds now.
    pub current: LogTemplate,
    /// Whether both parts are Airflow's defaults.
    pub is_default: bool,
    /// What the configuration file says, where Airflow replaces an outdated value by a newer one.
    pub superseded: Option<LogTemplate>,
}

/// Makes the configured template the newest row.
pub async fn synchronize(tx: &mut Tx, templates: &LogTemplates, now: Timestamp) -> Result<(), Error> {
    let newest = newest(tx).await?;
    if newest.is_none() && templates.is_default {
        insert(tx, &before_2_3(), now).await?;
    }
    if let Some(superseded) = &templates.superseded
        && !is_known(tx, superseded).await?
    {
        insert(tx, superseded, now).await?;
    }
    if newest.as_ref() != Some(&templates.current) {
        insert(tx, &templates.current, now).await?;
    }
    Ok(())
}

/// The template of a run: one from before this table existed has the oldest.
pub async fn of_run(tx: &mut Tx, id: Option<i64>) -> Result<Option<LogTemplate>, Error> {
    let row = match id {
        Some(id) => tx.fetch_optional(sql!("log_template/find"), binds![id]).await?,
        None => tx.fetch_optional(sql!("log_template/oldest"), Vec::new()).await?,
    };
    row.as_ref().map(template).transpose()
}

/// The id of the template that new runs get.
pub async fn newest_id(tx: &mut Tx) -> Result<Option<i64>, Error> {
    let row = tx.fetch_optional(sql!("log_template/newest_id"), Vec::new()).await?;
    row.map_or(Ok(None), |row| row.optional("id"))
}

/// What the defaults were before this table existed: a new database has it, too, so that logs of a very old
/// run would be found.
fn before_2_3() -> LogTemplate {
    LogTemplate {
        filename: "{{ ti.dag_id }}/{{ ti.task_id }}/{{ ts }}/{{ try_number }}.log".to_owned(),
        elasticsearch_id: "{dag_id}-{task_id}-{logical_date}-{try_number}".to_owned(),
    }
}

async fn newest(tx: &mut Tx) -> Result<Option<LogTemplate>, Error> {
    let row = tx.fetch_optional(sql!("log_template/newest"), Vec::new()).await?;
    row.as_ref().map(template).transpose()
}

fn template(row: &Row) -> Result<LogTemplate, Error> {
    Ok(LogTemplate { filename: row.get("filename")?, elasticsearch_id: row.get("elasticsearch_id")? })
}

async fn is_known(tx: &mut Tx, template: &LogTemplate) -> Result<bool, Error> {
    let binds = binds![template.filename.as_str(), template.elasticsearch_id.as_str()];
    Ok(tx.fetch_optional(sql!("log_template/find_either"), binds).await?.is_some())
}

async fn insert(tx: &mut Tx, template: &LogTemplate, now: Timestamp) -> Result<(), Error> {
    let binds = binds![template.filename.as_str(), template.elasticsearch_id.as_str(), now];
    tx.execute(sql!("log_template/insert"), binds).await?;
    Ok(())
}
