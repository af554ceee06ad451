//! The tables that old rows were copied into.

use crate::cleaning::Table;
use crate::statement::sql;
use crate::{Dialect, Error, Tx, schema};

/// How their names begin.
const PREFIX: &str = "_airflow_deleted__";
/// The one that a migration has made, of values that it could not take along.
pub(super) const OF_MIGRATION: &str = "_xcom_archive";

/// All tables of the database.
pub async fn existing_tables(tx: &mut Tx) -> Result<Vec<String>, Error> {
    schema::tables(tx).await
}

/// Makes an empty table for old rows of another, and returns its name: that of the other, and when that was, to the second.
pub async fn make_archive(tx: &mut Tx, table: &Table, now: jiff::Timestamp) -> Result<String, Error> {
    let name = format!("{PREFIX}{}__{}", table.name, now.strftime("%Y%m%d%H%M%S"));
    let of = table.name;
    // MySQL can refuse to make a table of a query.
    let text = if tx.dialect().is_mysql_family() {
        format!("CREATE TABLE IF NOT EXISTS {{name:{name}}} LIKE {{name:{of}}}")
    } else {
        format!("CREATE TABLE IF NOT EXISTS {{name:{name}}} AS SELECT * FROM {{name:{of}}} WHERE 1 = 0")
    };
    tx.execute_text("making a table for old rows", &text, Vec::new()).await?;
    Ok(name)
}

/// The tables of old rows of these, and that of the migration.
pub async fn archives(tx: &mut Tx, of: &[&Table]) -> Result<Vec<String>, Error> {
    let mut names = schema::tables(tx).await?;
    let is_of = |name: &str, table: &Table| name.contains(&format!("__{}__", table.name));
    names.retain(|name| {
        name == OF_MIGRATION || (name.starts_with(PREFIX) && of.iter().any(|table| is_of(name, table)))
    });
    Ok(names)
}

/// Whether nothing is in it.
pub async fn is_empty(tx: &mut Tx, name: &str) -> Result<bool, Error> {
    let text = format!("SELECT 1 AS present FROM {{name:{name}}} LIMIT 1");
    Ok(tx.fetch_text("looking for rows", &text, Vec::new()).await?.is_empty())
}

/// Drops one.
pub async fn drop_archive(tx: &mut Tx, name: &str) -> Result<(), Error> {
    let text = format!("DROP TABLE {{name:{name}}}");
    tx.execute_text("dropping a table of old rows", &text, Vec::new()).await?;
    Ok(())
}

/// The names of its columns.
pub async fn columns(tx: &mut Tx, name: &str) -> Result<Vec<String>, Error> {
    let statement = match tx.dialect() {
        Dialect::Postgres => sql!("schema/columns_postgres"),
        Dialect::MySql | Dialect::MariaDb => sql!("schema/columns_mysql"),
        Dialect::Sqlite => sql!("schema/columns_sqlite"),
    };
    let rows = tx.fetch_all(statement, vec![name.into()]).await?;
    rows.iter().map(|row| row.get("name")).collect()
}

/// Shows all rows, one after the other, until it is told to stop: the text of each value, or nothing.
pub async fn each_row(
    tx: &mut Tx,
    name: &str,
    mut see: impl FnMut(Vec<Option<String>>) -> bool + Send,
) -> Result<(), Error> {
    let text = format!("SELECT * FROM {{name:{name}}}");
    let mut unreadable = None;
    let seen = tx.each_row("reading old rows", &text, |row| match row.texts() {
        Ok(texts) => see(texts),
        Err(error) => {
            unreadable = Some(error);
            false
        }
    });
    seen.await?;
    unreadable.map_or(Ok(()), Err)
}
