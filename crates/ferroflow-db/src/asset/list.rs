//! `asset` and `asset_alias`, with all that refers to them: what people are shown.

use std::collections::HashMap;

use ferroflow_model::stored_assets::StoredAlias;
use jiff::Timestamp;

use crate::list::field::{Field, Fields};
use crate::list::value::Kind;
use crate::list::{Condition, ListRequest};
use crate::statement::{BATCH, Bind, Row, Statement, binds, sql};
use crate::{Error, Json, Tx};

const FIELDS: Fields = Fields {
    key: "id",
    all: &[
        Field::new("id", &["asset.id"], Kind::Int).ordered(),
        Field::new("name", &["asset.name"], Kind::Text).ordered(),
        Field::new("uri", &["asset.uri"], Kind::Text).ordered(),
    ],
};

/// Which assets are meant. What is not given restricts nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Which<'a> {
    /// Their name.
    pub name: Option<&'a str>,
    /// Their URI.
    pub uri: Option<&'a str>,
}

/// An asset, and what refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAsset {
    /// Its row.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its URI.
    pub uri: String,
    /// Its group.
    pub group: String,
    /// What its author noted: a dict.
    pub extra: Json,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its row was last written.
    pub updated_at: Timestamp,
    /// The DAGs that it triggers.
    pub scheduled_dags: Vec<Reference>,
    /// The tasks that update it.
    pub producing_tasks: Vec<Reference>,
    /// The tasks that read it.
    pub consuming_tasks: Vec<Reference>,
    /// The aliases that were resolved to it.
    pub aliases: Vec<StoredAlias>,
    /// What watches it.
    pub watchers: Vec<Watcher>,
}

/// A DAG, or a task of it, that refers to an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The DAG.
    pub dag_id: String,
    /// The task; empty if it is the DAG.
    pub task_id: String,
    /// Since when.
    pub created_at: Timestamp,
    /// When its row was last written.
    pub updated_at: Timestamp,
}

/// A trigger that watches an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watcher {
    /// Its name.
    pub name: String,
    /// The trigger.
    pub trigger_id: i64,
    /// When that was made.
    pub created_date: Timestamp,
}

/// The assets that are meant, by name.
pub async fn list(tx: &mut Tx, which: Which<'_>) -> Result<Vec<ListedAsset>, Error> {
    let request = ListRequest::new()
        .filter_if("name", which.name, Condition::is)
        .filter_if("uri", which.uri, Condition::is)
        .order_by(["name", "id"]);
    let rows = tx.list(sql!("asset/list"), &FIELDS, &request).await?.rows;
    let mut assets: Vec<ListedAsset> = rows.iter().map(asset).collect::<Result<_, _>>()?;
    for batch in assets.chunks_mut(BATCH) {
        let ids: Vec<i64> = batch.iter().map(|asset| asset.id).collect();
        let mut scheduled =
            gather(tx, sql!("dag_schedule_asset_reference/of_assets"), &ids, reference).await?;
        let mut producing =
            gather(tx, sql!("task_outlet_asset_reference/of_assets"), &ids, reference).await?;
        let mut consuming = gather(tx, sql!("task_inlet_asset_reference/of_assets"), &ids, reference).await?;
        let mut aliases = gather(tx, sql!("asset_alias/of_assets"), &ids, alias).await?;
        let mut watchers = gather(tx, sql!("asset_watcher/of_assets"), &ids, watcher).await?;
        for asset in batch {
            asset.scheduled_dags = scheduled.remove(&asset.id).unwrap_or_default();
            asset.producing_tasks = producing.remove(&asset.id).unwrap_or_default();
            asset.consuming_tasks = consuming.remove(&asset.id).unwrap_or_default();
            asset.aliases = aliases.remove(&asset.id).unwrap_or_default();
            asset.watchers = watchers.remove(&asset.id).unwrap_or_default();
        }
    }
    Ok(assets)
}

/// All aliases, by name.
pub async fn aliases(tx: &mut Tx) -> Result<Vec<StoredAlias>, Error> {
    let rows = tx.fetch_all(sql!("asset_alias/list"), Vec::new()).await?;
    rows.iter().map(alias).collect()
}

/// The DAGs that have a task which updates an asset that is meant.
pub async fn producers(tx: &mut Tx, which: Which<'_>) -> Result<Vec<String>, Error> {
    let rows = tx.fetch_all(sql!("task_outlet_asset_reference/producers"), which.binds()).await?;
    rows.iter().map(|row| row.get("dag_id")).collect()
}

impl Which<'_> {
    fn binds(self) -> Vec<Bind> {
        binds![self.name.is_none(), self.name, self.uri.is_none(), self.uri]
    }
}

/// What refers to some assets, by asset.
async fn gather<T>(
    tx: &mut Tx,
    statement: &'static Statement,
    ids: &[i64],
    read: fn(&Row) -> Result<T, Error>,
) -> Result<HashMap<i64, Vec<T>>, Error> {
    let mut found: HashMap<i64, Vec<T>> = HashMap::new();
    for row in &tx.fetch_all(statement, vec![ids.iter().copied().collect()]).await? {
        found.entry(row.get("asset_id")?).or_default().push(read(row)?);
    }
    Ok(found)
}

fn asset(row: &Row) -> Result<ListedAsset, Error> {
    Ok(ListedAsset {
        id: row.get("id")?,
        name: row.get("name")?,
        uri: row.get("uri")?,
        group: row.get("group")?,
        extra: row.get("extra")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        scheduled_dags: Vec::new(),
        producing_tasks: Vec::new(),
        consuming_tasks: Vec::new(),
        aliases: Vec::new(),
        watchers: Vec::new(),
    })
}

fn reference(row: &Row) -> Result<Reference, Error> {
    Ok(Reference {
        dag_id: row.get("dag_id")?,
        task_id: row.get("task_id")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn alias(row: &Row) -> Result<StoredAlias, Error> {
    Ok(StoredAlias { id: row.get("id")?, name: row.get("name")?, group: row.get("group")? })
}

fn watcher(row: &Row) -> Result<Watcher, Error> {
    Ok(Watcher {
        name: row.get("name")?,
        trigger_id: row.get("trigger_id")?,
        created_date: row.get("created_date")?,
    })
}
