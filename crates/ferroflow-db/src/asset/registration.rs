//! `asset_event` and what is tied to it, as it is written when an asset changes and read when a run starts.

use std::fmt::Display;

use jiff::Timestamp;
use serde_json::Value;

use crate::asset::row::only_id;
use crate::statement::{BATCH, Bind, Row, binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::{BadRow, Error, Json, Tx};

/// An asset that is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveAsset {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its URI.
    pub uri: String,
}

/// A change of an asset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewEvent<'a> {
    /// The asset.
    pub asset_id: i64,
    /// What is said about it: an object.
    pub extra: &'a Json,
    /// The task instance that changed it.
    pub source: Option<&'a TaskInstanceKey>,
    /// The partition that changed.
    pub partition_key: Option<&'a str>,
}

/// A DAG that waits for an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The DAG.
    pub dag_id: String,
    /// Whether its runs stand for partitions.
    pub is_partitioned: bool,
    /// Its team.
    pub team_name: Option<String>,
    /// The other teams whose changes it takes.
    pub producer_teams: Vec<String>,
    /// Whether it takes changes of those without a team.
    pub takes_global: bool,
}

/// Who may see the changes that a task makes to an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumers {
    /// Other teams; any if `None`.
    pub teams: Option<Vec<String>>,
    /// Whether those without a team may.
    pub allow_global: bool,
}

/// An event that a run was made for.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumedEvent {
    /// Its row.
    pub id: i64,
    /// The name of the asset.
    pub name: String,
    /// Its URI.
    pub uri: String,
    /// What its author noted.
    pub asset_extra: Json,
    /// What the event says.
    pub extra: Json,
    /// The task that it comes from.
    pub source_task_id: Option<String>,
    /// Its DAG.
    pub source_dag_id: Option<String>,
    /// Its run.
    pub source_run_id: Option<String>,
    /// Which of the mapped copies.
    pub source_map_index: Option<i32>,
    /// The aliases that it came through.
    pub aliases: Vec<String>,
    /// When it happened.
    pub timestamp: Timestamp,
    /// The partition it is about.
    pub partition_key: Option<String>,
}

impl ConsumedEvent {
    /// The error that a JSON column, of the event or of its asset, holds a value that makes no sense.
    pub fn unreadable(&self, column: &'static str, json: &Json, reason: &dyn Display) -> Error {
        let Self { id, name, uri, .. } = self;
        let key = format!("id \"{id}\", name {name:?}, uri {uri:?}");
        BadRow::inside(("asset_event/consumed", key), column, json, reason)
    }
}

/// The assets in use that have one of these names or one of these URIs.
pub async fn active(tx: &mut Tx, names: &[&str], uris: &[&str]) -> Result<Vec<ActiveAsset>, Error> {
    let binds = vec![names.iter().copied().collect(), uris.iter().copied().collect()];
    let rows = tx.fetch_all(sql!("asset/active_of_outlets"), binds).await?;
    let active =
        |row: &Row| Ok(ActiveAsset { id: row.get("id")?, name: row.get("name")?, uri: row.get("uri")? });
    tx.readable(&rows, active)
}

/// Names and URIs of the assets in use that have one of these names.
pub async fn active_keys(tx: &mut Tx, names: &[&str]) -> Result<Vec<(String, String)>, Error> {
    let mut found = Vec::new();
    for names in names.chunks(BATCH) {
        let list: Bind = names.iter().copied().collect();
        let rows = tx.fetch_all(sql!("asset_active/find_by_names"), vec![list]).await?;
        found.extend(tx.readable(&rows, |row| Ok((row.get("name")?, row.get("uri")?)))?);
    }
    Ok(found)
}

/// The id of an asset, in use or not.
pub async fn asset_id(tx: &mut Tx, name: &str, uri: &str) -> Result<Option<i64>, Error> {
    let row = tx.fetch_optional(sql!("asset/find_id"), binds![name, uri]).await?;
    row.map(|row| row.get("id")).transpose()
}

/// Keeps others from adding partitions for an asset until the transaction ends.
pub async fn lock_asset(tx: &mut Tx, id: i64) -> Result<(), Error> {
    only_id(tx.fetch_optional(sql!("asset/lock"), binds![id]).await?, "asset/lock")?;
    Ok(())
}

/// Says that an alias stands for an asset too.
pub async fn tie_alias(tx: &mut Tx, alias_id: i64, asset_id: i64) -> Result<(), Error> {
    tx.execute(sql!("asset_alias_asset/insert"), binds![alias_id, asset_id]).await?;
    Ok(())
}

/// Writes an event, the aliases that it came through, and returns its id.
pub async fn insert_event(
    tx: &mut Tx,
    event: &NewEvent<'_>,
    alias_ids: &[i64],
    now: Timestamp,
) -> Result<i64, Error> {
    let binds = binds![
        event.asset_id,
        event.extra.clone(),
        event.source.map(|source| source.task_id.as_str()),
        event.source.map(|source| source.dag_id.as_str()),
        event.source.map(|source| source.run_id.as_str()),
        event.source.map_or(-1, |source| source.map_index),
        now,
        event.partition_key,
    ];
    let id = tx.insert(sql!("asset_event/insert"), binds).await?;
    for alias_id in alias_ids {
        tx.execute(sql!("asset_alias_asset_event/insert"), binds![*alias_id, id]).await?;
    }
    Ok(id)
}

/// The DAGs that wait for an asset, by itself, by its name, by its URI or by one of these aliases, and are not
/// paused. One whose row cannot be read is left out: what its own DAG waits for keeps back no other.
pub async fn listeners(
    tx: &mut Tx,
    asset_id: i64,
    (name, uri): (&str, &str),
    alias_ids: &[i64],
) -> Result<Vec<Listener>, Error> {
    let mut binds = binds![asset_id, name, uri];
    binds.push(alias_ids.iter().copied().collect());
    binds.push(Bind::from(asset_id));
    let rows = tx.fetch_all(sql!("asset_reference/listeners"), binds).await?;
    tx.readable(&rows, listener)
}

/// Who may see the changes that a task makes to an asset; `None` if the DAG does not say that it makes any.
pub async fn consumers(
    tx: &mut Tx,
    source: &TaskInstanceKey,
    asset_id: i64,
) -> Result<Option<Consumers>, Error> {
    let binds = binds![source.dag_id.as_str(), source.task_id.as_str(), asset_id];
    let row = tx.fetch_optional(sql!("task_outlet_asset_reference/consumers"), binds).await?;
    row.map(|row| {
        Ok(Consumers {
            teams: names(&row, "allow_consumer_teams")?,
            allow_global: row.optional("allow_global_consumers")?.unwrap_or(true),
        })
    })
    .transpose()
}

/// The events that a run was made for, in the order in which they happened.
pub async fn consumed(tx: &mut Tx, dag_run_id: i64) -> Result<Vec<ConsumedEvent>, Error> {
    let rows = tx.fetch_all(sql!("asset_event/consumed"), binds![dag_run_id]).await?;
    let mut events: Vec<ConsumedEvent> = Vec::new();
    for row in &rows {
        let id: i64 = row.get("id")?;
        if events.last().is_none_or(|last| last.id != id) {
            events.push(consumed_event(row)?);
        }
        if let (Some(alias), Some(event)) = (row.optional("alias")?, events.last_mut()) {
            event.aliases.push(alias);
        }
    }
    Ok(events)
}

fn listener(row: &Row) -> Result<Listener, Error> {
    Ok(Listener {
        dag_id: row.get("dag_id")?,
        is_partitioned: row.get("timetable_partitioned")?,
        team_name: row.optional("team_name")?,
        producer_teams: names(row, "allow_producer_teams")?.unwrap_or_default(),
        takes_global: row.optional("allow_global_producers")?.unwrap_or(true),
    })
}

/// A list of names that may be missing.
fn names(row: &Row, column: &'static str) -> Result<Option<Vec<String>>, Error> {
    let Some(json) = row.json(column)? else { return Ok(None) };
    match json.value() {
        Ok(Value::Array(items)) => {
            Ok(Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect()))
        }
        Ok(_) => Err(row.bad(column, "it is no list of names")),
        Err(error) => Err(row.bad(column, error)),
    }
}

fn consumed_event(row: &Row) -> Result<ConsumedEvent, Error> {
    Ok(ConsumedEvent {
        id: row.get("id")?,
        name: row.get("name")?,
        uri: row.get("uri")?,
        asset_extra: row.get("asset_extra")?,
        extra: row.get("extra")?,
        source_task_id: row.optional("source_task_id")?,
        source_dag_id: row.optional("source_dag_id")?,
        source_run_id: row.optional("source_run_id")?,
        source_map_index: row.optional("source_map_index")?,
        aliases: Vec::new(),
        timestamp: row.get("timestamp")?,
        partition_key: row.optional("partition_key")?,
    })
}
