//! The tables that say who uses which asset: `dag_schedule_asset_reference`, `…_alias_reference`, `…_name_reference`,
//! `…_uri_reference`, `task_inlet_asset_reference` and `task_outlet_asset_reference`; and `dag.asset_expression`, which
//! shows a schedule.

use std::collections::BTreeMap;

use ferroflow_model::stored_assets::{Access, Reference};
use jiff::Timestamp;
use serde_json::Value;

use crate::statement::{BATCH, Bind, Row, binds, sql};
use crate::{Error, Json, Tx};

/// What the database knows of the assets of some DAGs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredReferences {
    /// Every use of an asset.
    pub references: BTreeMap<Reference, Access>,
    /// The expression of each DAG that has one.
    pub expressions: BTreeMap<String, Json>,
}

/// Every reference of these DAGs.
pub async fn find_by_dags(tx: &mut Tx, dag_ids: &[&str]) -> Result<StoredReferences, Error> {
    let mut found = StoredReferences::default();
    for dag_ids in dag_ids.chunks(BATCH) {
        let list: Bind = dag_ids.iter().copied().collect();
        let rows = tx.fetch_all(sql!("asset_reference/find_by_dags"), vec![list; 7]).await?;
        for row in &rows {
            // What is left out is written anew, unless it is there.
            tx.or_note(add(&mut found, row))?;
        }
    }
    Ok(found)
}

/// Adds a reference. One that is there already stays as it is.
pub async fn insert(
    tx: &mut Tx,
    reference: &Reference,
    access: &Access,
    now: Timestamp,
) -> Result<(), Error> {
    let teams = || Json::from(&access.teams);
    let (statement, binds) = match reference {
        Reference::Schedule { dag_id, asset_id } => (
            sql!("dag_schedule_asset_reference/insert"),
            binds![*asset_id, dag_id.as_str(), teams(), access.allow_global, now, now],
        ),
        Reference::ScheduleAlias { dag_id, alias_id } => {
            (sql!("dag_schedule_asset_alias_reference/insert"), binds![*alias_id, dag_id.as_str(), now, now])
        }
        Reference::ScheduleName { dag_id, name } => {
            (sql!("dag_schedule_asset_name_reference/insert"), binds![name.as_str(), dag_id.as_str(), now])
        }
        Reference::ScheduleUri { dag_id, uri } => {
            (sql!("dag_schedule_asset_uri_reference/insert"), binds![uri.as_str(), dag_id.as_str(), now])
        }
        Reference::Inlet { dag_id, task_id, asset_id } => (
            sql!("task_inlet_asset_reference/insert"),
            binds![*asset_id, dag_id.as_str(), task_id.as_str(), now, now],
        ),
        Reference::Outlet { dag_id, task_id, asset_id } => (
            sql!("task_outlet_asset_reference/insert"),
            binds![*asset_id, dag_id.as_str(), task_id.as_str(), teams(), access.allow_global, now, now],
        ),
    };
    tx.execute(statement, binds).await?;
    Ok(())
}

/// Gives a reference another rule. Only schedules and outlets have one.
pub async fn update(
    tx: &mut Tx,
    reference: &Reference,
    access: &Access,
    now: Timestamp,
) -> Result<(), Error> {
    let rule = || binds![Json::from(&access.teams), access.allow_global, now];
    let (statement, key) = match reference {
        Reference::Schedule { dag_id, asset_id } => {
            (sql!("dag_schedule_asset_reference/update"), binds![*asset_id, dag_id.as_str()])
        }
        Reference::Outlet { dag_id, task_id, asset_id } => {
            (sql!("task_outlet_asset_reference/update"), binds![*asset_id, dag_id.as_str(), task_id.as_str()])
        }
        Reference::ScheduleAlias { .. }
        | Reference::ScheduleName { .. }
        | Reference::ScheduleUri { .. }
        | Reference::Inlet { .. } => return Ok(()),
    };
    tx.execute(statement, [rule(), key].concat()).await?;
    Ok(())
}

/// Deletes a reference; with that of a schedule goes what the DAG has already seen of the asset.
pub async fn delete(tx: &mut Tx, reference: &Reference) -> Result<(), Error> {
    let (statement, binds) = match reference {
        Reference::Schedule { dag_id, asset_id } => {
            let key = binds![*asset_id, dag_id.as_str()];
            tx.execute(sql!("asset_dag_run_queue/delete"), key.clone()).await?;
            (sql!("dag_schedule_asset_reference/delete"), key)
        }
        Reference::ScheduleAlias { dag_id, alias_id } => {
            (sql!("dag_schedule_asset_alias_reference/delete"), binds![*alias_id, dag_id.as_str()])
        }
        Reference::ScheduleName { dag_id, name } => {
            (sql!("dag_schedule_asset_name_reference/delete"), binds![name.as_str(), dag_id.as_str()])
        }
        Reference::ScheduleUri { dag_id, uri } => {
            (sql!("dag_schedule_asset_uri_reference/delete"), binds![uri.as_str(), dag_id.as_str()])
        }
        Reference::Inlet { dag_id, task_id, asset_id } => {
            (sql!("task_inlet_asset_reference/delete"), binds![*asset_id, dag_id.as_str(), task_id.as_str()])
        }
        Reference::Outlet { dag_id, task_id, asset_id } => {
            (sql!("task_outlet_asset_reference/delete"), binds![*asset_id, dag_id.as_str(), task_id.as_str()])
        }
    };
    tx.execute(statement, binds).await?;
    Ok(())
}

/// The stale DAGs that wait for something or update it. They are looked up before: a DELETE that reads `dag` itself would,
/// on MySQL, lock in the other order than a processor that stores a file.
pub async fn stale_dags(tx: &mut Tx) -> Result<Vec<String>, Error> {
    let rows = tx.fetch_all(sql!("asset_reference/stale_dags"), Vec::new()).await?;
    tx.readable(&rows, |row| row.get("dag_id"))
}

/// Deletes what DAGs wait for and update, and says how many rows that were. What their tasks read stays, as in Airflow.
pub async fn delete_of_dags(tx: &mut Tx, dag_ids: &[&str]) -> Result<u64, Error> {
    let mut deleted = 0;
    for dag_ids in dag_ids.chunks(BATCH) {
        let list: Bind = dag_ids.iter().copied().collect();
        for statement in [
            sql!("dag_schedule_asset_reference/delete_by_dags"),
            sql!("dag_schedule_asset_name_reference/delete_by_dags"),
            sql!("dag_schedule_asset_uri_reference/delete_by_dags"),
            sql!("dag_schedule_asset_alias_reference/delete_by_dags"),
            sql!("task_outlet_asset_reference/delete_by_dags"),
        ] {
            deleted += tx.execute(statement, vec![list.clone()]).await?;
        }
    }
    Ok(deleted)
}

/// Sets what pages show of the assets that a DAG waits for.
pub async fn set_expression(tx: &mut Tx, dag_id: &str, expression: Option<Json>) -> Result<(), Error> {
    tx.execute(sql!("dag/set_asset_expression"), binds![expression, dag_id]).await?;
    Ok(())
}

fn add(found: &mut StoredReferences, row: &Row) -> Result<(), Error> {
    let dag_id: String = row.get("dag_id")?;
    let kind: String = row.get("kind")?;
    let reference = match kind.as_str() {
        "expression" => {
            found.expressions.extend(row.json("content")?.map(|expression| (dag_id, expression)));
            return Ok(());
        }
        "schedule" => Reference::Schedule { dag_id, asset_id: row.get("number")? },
        "alias" => Reference::ScheduleAlias { dag_id, alias_id: row.get("number")? },
        "name" => Reference::ScheduleName { dag_id, name: row.get("target")? },
        "uri" => Reference::ScheduleUri { dag_id, uri: row.get("target")? },
        "inlet" => Reference::Inlet { dag_id, task_id: row.get("target")?, asset_id: row.get("number")? },
        _ => Reference::Outlet { dag_id, task_id: row.get("target")?, asset_id: row.get("number")? },
    };
    found.references.insert(reference, access(row)?);
    Ok(())
}

fn access(row: &Row) -> Result<Access, Error> {
    let teams = match row.json("content")? {
        Some(teams) => teams.value().map_err(|error| row.bad("content", error))?,
        None => Value::Null,
    };
    Ok(Access { teams, allow_global: row.optional("allow_global")?.unwrap_or(true) })
}
