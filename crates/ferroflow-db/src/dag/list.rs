//! Reads for people who want to see which DAGs there are.
//!
//! Names are sorted here, by their code points as Python sorts them: databases sort by collations of their own.

use std::collections::HashMap;

use crate::dag::fields::FIELDS;
use crate::dag::row::dag;
use crate::dag::{Dag, find};
use crate::list::{Condition, ListRequest, Listed};
use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// A DAG with its tags.
#[derive(Clone, Debug, PartialEq)]
pub struct TaggedDag {
    /// The DAG.
    pub dag: Dag,
    /// Its tags, sorted.
    pub tags: Vec<String>,
}

/// Every DAG that has a serialized form, by name; stale ones too.
pub async fn list(tx: &mut Tx) -> Result<Vec<TaggedDag>, Error> {
    let mut tags: HashMap<String, Vec<String>> = HashMap::new();
    for row in tx.fetch_all(sql!("dag_tag/list"), binds![]).await? {
        tags.entry(row.get("dag_id")?).or_default().push(row.get("name")?);
    }
    let mut dags = Vec::new();
    let request = ListRequest::new().filter("is_serialized", Condition::is(true));
    for row in tx.list(sql!("dag/list"), &FIELDS, &request).await?.rows {
        let dag = dag(&row)?;
        let mut tags = tags.remove(&dag.dag_id).unwrap_or_default();
        tags.sort_unstable();
        dags.push(TaggedDag { dag, tags });
    }
    dags.sort_by(|one, other| one.dag.dag_id.cmp(&other.dag.dag_id));
    Ok(dags)
}

/// A page of all DAGs.
pub async fn page(tx: &mut Tx, request: &ListRequest) -> Result<Listed<Dag>, Error> {
    let Listed { rows, next, previous } = tx.list(sql!("dag/list"), &FIELDS, request).await?;
    Ok(Listed { rows: tx.readable(&rows, dag)?, next, previous })
}

/// How many DAGs there are on all pages, counted up to a limit.
pub async fn total(tx: &mut Tx, request: &ListRequest, limit: Option<u32>) -> Result<i64, Error> {
    tx.list_total(sql!("dag/list_total"), &FIELDS, request, limit).await
}

/// One DAG with its tags, whether it has a serialized form or not.
pub async fn find_tagged(tx: &mut Tx, dag_id: &str) -> Result<Option<TaggedDag>, Error> {
    let Some(dag) = find(tx, dag_id).await? else { return Ok(None) };
    let rows = tx.fetch_all(sql!("dag_tag/of_dag"), binds![dag_id]).await?;
    let mut tags = rows.iter().map(|row| row.get("name")).collect::<Result<Vec<String>, Error>>()?;
    tags.sort_unstable();
    Ok(Some(TaggedDag { dag, tags }))
}

/// Some DAGs, by name. One whose row cannot be read is left out: it keeps back no other.
pub async fn find_many(tx: &mut Tx, dag_ids: &[&str]) -> Result<HashMap<String, Dag>, Error> {
    let mut found = HashMap::with_capacity(dag_ids.len());
    for ids in dag_ids.chunks(crate::statement::BATCH) {
        let rows = tx.fetch_all(sql!("dag/find_many"), vec![ids.iter().copied().collect()]).await?;
        found.extend(tx.readable(&rows, dag)?.into_iter().map(|dag| (dag.dag_id.clone(), dag)));
    }
    Ok(found)
}

/// The names of all DAGs, sorted.
pub async fn names(tx: &mut Tx) -> Result<Vec<String>, Error> {
    let rows = tx.fetch_all(sql!("dag/names"), binds![]).await?;
    let mut names = rows.iter().map(|row| row.get("dag_id")).collect::<Result<Vec<String>, Error>>()?;
    names.sort_unstable();
    Ok(names)
}
