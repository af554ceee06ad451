//! Triggers on tables of PostgreSQL, by which official components tell what they change. Off unless an operator installs
//! them: they are the only thing that ferroflow adds to Airflow's tables, and nothing depends on them.
//!
//! What they call is in a schema of its own. Its name is not `ferroflow`: a user of that name would look there for tables first.

use crate::statement::sql;
use crate::{Db, Dialect, Error, ScopedFutureExt as _, Tx};

/// One statement after the other, with an empty line between them.
const STATEMENTS: &str = include_str!("../../schema/notifications.sql");

/// A trigger that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Its table.
    pub table: String,
    /// Its name.
    pub name: String,
    /// Whether the table is one of this Airflow, not of another one in the same database.
    pub is_ours: bool,
}

/// Whether this database has what triggers need.
pub fn are_possible(dialect: Dialect) -> bool {
    dialect == Dialect::Postgres
}

/// The triggers that are installed.
pub async fn installed(tx: &mut Tx) -> Result<Vec<Trigger>, Error> {
    let rows = tx.fetch_all(sql!("notifications/triggers"), Vec::new()).await?;
    rows.iter()
        .map(|row| {
            Ok(Trigger {
                table: row.get("relation")?,
                name: row.get("name")?,
                is_ours: row.get("is_visible")?,
            })
        })
        .collect()
}

/// Installs all triggers as this version has them, each in a transaction of its own: a transaction that changes several tables in one
/// meets official components that have them in another order, and a deadlock ends an official scheduler.
pub async fn install(db: &Db) -> Result<(), Error> {
    drop_ours(db).await?;
    for statement in STATEMENTS.split(";\n\n") {
        change(db, statement.trim_end().trim_end_matches(';')).await?;
    }
    Ok(())
}

/// Removes them in the same way, and what they call unless another schema of this database does.
pub async fn remove(db: &Db) -> Result<(), Error> {
    drop_ours(db).await?;
    if db.read(|tx| installed(tx).scope_boxed()).await?.is_empty() {
        let functions = "ferroflow_news.tell(), ferroflow_news.tell_dag(), ferroflow_news.tell_run()";
        change(db, &format!("DROP FUNCTION IF EXISTS {functions}")).await?;
        change(db, "DROP SCHEMA IF EXISTS ferroflow_news").await?;
    }
    Ok(())
}

async fn drop_ours(db: &Db) -> Result<(), Error> {
    let there = db.read(|tx| installed(tx).scope_boxed()).await?;
    for trigger in there.into_iter().filter(|trigger| trigger.is_ours) {
        let [name, table] = [&trigger.name, &trigger.table].map(|name| Dialect::Postgres.quote(name));
        change(db, &format!("DROP TRIGGER IF EXISTS {name} ON {table}")).await?;
    }
    Ok(())
}

async fn change(db: &Db, statement: &str) -> Result<(), Error> {
    let changed = db.transact(|tx| {
        async move { tx.execute_text("changing triggers", statement, Vec::new()).await }.scope_boxed()
    });
    changed.await.map(drop)
}
