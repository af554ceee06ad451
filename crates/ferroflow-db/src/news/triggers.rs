//! Triggers on tables of PostgreSQL, by which official components tell what they change. Off unless somebody installs
//! them: they are the only thing that ferroflow adds to Airflow's tables, and nothing depends on them.
//!
//! What they call is in a schema of its own. Its name is not `ferroflow`: a user of that name would look there for tables first.

use crate::dialect::Dialect;
use crate::error::Error;
use crate::statement::sql;
use crate::tx::Tx;

/// One statement after the other, with an empty line between them.
const STATEMENTS: &str = include_str!("../../schema/news.sql");

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
    let rows = tx.fetch_all(sql!("news/triggers"), Vec::new()).await?;
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

/// Installs all triggers as this version has them.
pub async fn install(tx: &mut Tx) -> Result<(), Error> {
    drop_ours(tx).await?;
    for statement in STATEMENTS.split(";\n\n") {
        let statement = statement.trim_end().trim_end_matches(';');
        tx.execute_text("installing triggers", statement, Vec::new()).await?;
    }
    Ok(())
}

/// Removes them, and what they call if nobody else in this database does.
pub async fn remove(tx: &mut Tx) -> Result<(), Error> {
    drop_ours(tx).await?;
    if installed(tx).await?.is_empty() {
        let functions = "ferroflow_news.tell(), ferroflow_news.tell_dag(), ferroflow_news.tell_run()";
        change(tx, &format!("DROP FUNCTION IF EXISTS {functions}")).await?;
        change(tx, "DROP SCHEMA IF EXISTS ferroflow_news").await?;
    }
    Ok(())
}

async fn drop_ours(tx: &mut Tx) -> Result<(), Error> {
    for trigger in installed(tx).await?.into_iter().filter(|trigger| trigger.is_ours) {
        let [name, table] = [&trigger.name, &trigger.table].map(|name| Dialect::Postgres.quote(name));
        change(tx, &format!("DROP TRIGGER {name} ON {table}")).await?;
    }
    Ok(())
}

async fn change(tx: &mut Tx, statement: &str) -> Result<(), Error> {
    tx.execute_text("removing triggers", statement, Vec::new()).await.map(drop)
}
