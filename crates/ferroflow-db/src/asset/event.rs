//! `asset_event`: what happened to assets.

use jiff::Timestamp;

use crate::asset::FoundAsset;
use crate::statement::{Bind, Row, binds, sql};
use crate::{Error, Json, Tx};

/// An event, and the asset it happened to.
#[derive(Clone, Debug, PartialEq)]
pub struct AssetEvent {
    /// Counted up by the database.
    pub id: i64,
    /// When it happened.
    pub timestamp: Timestamp,
    /// What the task noted: a dict.
    pub extra: Json,
    /// The asset.
    pub asset: FoundAsset,
    /// The task that it comes from.
    pub source_task_id: Option<String>,
    /// Its DAG.
    pub source_dag_id: Option<String>,
    /// Its run.
    pub source_run_id: Option<String>,
    /// Which of the mapped copies.
    pub source_map_index: Option<i32>,
    /// The partition it is about.
    pub partition_key: Option<String>,
}

/// A run that was made for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedRun {
    /// The event.
    pub event_id: i64,
    /// The run.
    pub run_id: String,
    /// Its DAG.
    pub dag_id: String,
    /// The date that it stands for.
    pub logical_date: Option<Timestamp>,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// When it ended.
    pub end_date: Option<Timestamp>,
    /// Where it stands, in Airflow's word.
    pub state: String,
    /// The start of its data interval.
    pub data_interval_start: Option<Timestamp>,
    /// The end of its data interval.
    pub data_interval_end: Option<Timestamp>,
    /// The partition it is for.
    pub partition_key: Option<String>,
}

/// Which events of an asset are meant, and in which order they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Not before.
    pub after: Option<Timestamp>,
    /// Not after.
    pub before: Option<Timestamp>,
    /// How many at most.
    pub limit: Option<i64>,
    /// Whether the oldest come first.
    pub ascending: bool,
}

/// The events of the asset of a name and a URI; of the active one if only one of these is given.
pub async fn of_asset(
    tx: &mut Tx,
    name: Option<&str>,
    uri: Option<&str>,
    window: Window,
) -> Result<Vec<AssetEvent>, Error> {
    let statement =
        if window.ascending { sql!("asset_event/of_asset") } else { sql!("asset_event/of_asset_newest") };
    let binds = binds![name.is_none(), name, uri.is_none(), uri, name.is_some() && uri.is_some()];
    found(&tx.fetch_all(statement, with(binds, window)).await?)
}

/// The events that were emitted through an alias.
pub async fn of_alias(tx: &mut Tx, alias: &str, window: Window) -> Result<Vec<AssetEvent>, Error> {
    let statement =
        if window.ascending { sql!("asset_event/of_alias") } else { sql!("asset_event/of_alias_newest") };
    found(&tx.fetch_all(statement, with(binds![alias], window)).await?)
}

/// The runs that were made for these events.
pub async fn created_runs(tx: &mut Tx, events: &[AssetEvent]) -> Result<Vec<CreatedRun>, Error> {
    let mut runs = Vec::new();
    for events in events.chunks(crate::statement::BATCH) {
        let ids: Bind = events.iter().map(|event| event.id).collect();
        for row in &tx.fetch_all(sql!("asset_event/runs"), vec![ids]).await? {
            runs.push(created_run(row)?);
        }
    }
    Ok(runs)
}

fn with(mut binds: Vec<Bind>, window: Window) -> Vec<Bind> {
    let limit = window.limit.unwrap_or(i64::MAX);
    binds.extend(binds![window.after.is_none(), window.after, window.before.is_none(), window.before, limit]);
    binds
}

fn found(rows: &[Row]) -> Result<Vec<AssetEvent>, Error> {
    rows.iter().map(event).collect()
}

fn event(row: &Row) -> Result<AssetEvent, Error> {
    Ok(AssetEvent {
        id: row.get("id")?,
        timestamp: row.get("timestamp")?,
        extra: row.get("extra")?,
        asset: FoundAsset {
            name: row.get("name")?,
            uri: row.get("uri")?,
            group: row.get("group")?,
            extra: row.get("asset_extra")?,
        },
        source_task_id: row.optional("source_task_id")?,
        source_dag_id: row.optional("source_dag_id")?,
        source_run_id: row.optional("source_run_id")?,
        source_map_index: row.optional("source_map_index")?,
        partition_key: row.optional("partition_key")?,
    })
}

fn created_run(row: &Row) -> Result<CreatedRun, Error> {
    Ok(CreatedRun {
        event_id: row.get("event_id")?,
        run_id: row.get("run_id")?,
        dag_id: row.get("dag_id")?,
        logical_date: row.optional("logical_date")?,
        start_date: row.optional("start_date")?,
        end_date: row.optional("end_date")?,
        state: row.get("state")?,
        data_interval_start: row.optional("data_interval_start")?,
        data_interval_end: row.optional("data_interval_end")?,
        partition_key: row.optional("partition_key")?,
    })
}
