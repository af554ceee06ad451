//! `dag_bundle`: where DAG files come from.

use jiff::Timestamp;

use crate::statement::{Row, binds, sql};
use crate::{Error, Json, Tx};

/// One bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DagBundle {
    /// Its name.
    pub name: String,
    /// Whether it is configured.
    pub active: bool,
    /// The version that it was last refreshed to, if it has versions.
    pub version: Option<String>,
    /// When it was last refreshed.
    pub last_refreshed: Option<Timestamp>,
    /// Where a version of it can be looked at, signed.
    pub signed_url_template: Option<String>,
    /// What to fill into that.
    pub template_params: Option<Json>,
}

/// Makes an active bundle of that name, unless there is one of it already, which stays as it is. One without
/// a link to its source has no parameters for the link either: an empty dict, not NULL.
pub async fn insert_if_missing(tx: &mut Tx, name: &str) -> Result<(), Error> {
    let no_parameters = Json::from(serde_json::json!({}));
    tx.execute(sql!("dag_bundle/insert_if_missing"), binds![name, true, no_parameters]).await?;
    Ok(())
}

/// One bundle, if there is one of the name; if its row cannot be read, that is all that is known of it.
pub async fn find(tx: &mut Tx, name: &str) -> Result<Option<Option<DagBundle>>, Error> {
    let row = tx.fetch_optional(sql!("dag_bundle/find"), binds![name]).await?;
    row.map(|row| tx.or_note(dag_bundle(&row))).transpose()
}

/// Every bundle, by name.
pub async fn list(tx: &mut Tx) -> Result<Vec<DagBundle>, Error> {
    let rows = tx.fetch_all(sql!("dag_bundle/list"), Vec::new()).await?;
    tx.readable(&rows, dag_bundle)
}

/// Makes a bundle active, new or known, with the link to its source.
pub async fn activate(
    tx: &mut Tx,
    name: &str,
    signed_url_template: Option<&str>,
    template_params: &Json,
) -> Result<(), Error> {
    let binds = binds![name, true, signed_url_template, template_params.clone()];
    tx.execute(sql!("dag_bundle/upsert"), binds).await?;
    Ok(())
}

/// Makes a bundle inactive that is not configured any more; it belongs to no team then. False if it was not
/// active.
pub async fn deactivate(tx: &mut Tx, name: &str) -> Result<bool, Error> {
    tx.execute(sql!("dag_bundle/delete_team"), binds![name]).await?;
    Ok(tx.execute(sql!("dag_bundle/deactivate"), binds![false, name, true]).await? == 1)
}

/// Notes that a bundle was refreshed, and to which version. Without one the version stays as it is.
pub async fn set_refreshed(
    tx: &mut Tx,
    name: &str,
    version: Option<&str>,
    now: Timestamp,
) -> Result<(), Error> {
    match version {
        Some(version) => tx.execute(sql!("dag_bundle/set_version"), binds![now, version, name]).await?,
        None => tx.execute(sql!("dag_bundle/set_refreshed"), binds![now, name]).await?,
    };
    Ok(())
}

/// Gives a bundle to a team, or to none. False if there is no such team.
pub async fn set_team(tx: &mut Tx, name: &str, team: Option<&str>) -> Result<bool, Error> {
    let row = tx.fetch_optional(sql!("dag_bundle/team"), binds![name]).await?;
    let current: Option<String> = row.map(|row| row.get("team_name")).transpose()?;
    if current.as_deref() == team {
        return Ok(true);
    }
    tx.execute(sql!("dag_bundle/delete_team"), binds![name]).await?;
    match team {
        Some(team) => Ok(tx.execute(sql!("dag_bundle/insert_team"), binds![name, team]).await? == 1),
        None => Ok(true),
    }
}

fn dag_bundle(row: &Row) -> Result<DagBundle, Error> {
    Ok(DagBundle {
        name: row.get("name")?,
        active: row.optional("active")?.unwrap_or(false),
        version: row.optional("version")?,
        last_refreshed: row.optional("last_refreshed")?,
        signed_url_template: row.optional("signed_url_template")?,
        template_params: row.json("template_params")?,
    })
}
