//! How large a table is, without reading all of a large one.

use crate::statement::{binds, sql};
use crate::{Dialect, Error, Tx};

/// How many rows a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// So many.
    Exactly(i64),
    /// About so many: what the database remembers of the table.
    About(i64),
    /// More than this, and the database remembers nothing.
    MoreThan(i64),
}

/// The rows of a table of the schema. Up to `most` are counted; beyond that the database's own estimate has to do.
pub async fn rows(tx: &mut Tx, table: &str, most: u32) -> Result<Rows, Error> {
    let most = i64::from(most);
    let text = format!(
        "SELECT COUNT(*) AS total FROM (SELECT 1 AS present FROM {{name:{table}}} LIMIT {}) AS some_rows",
        most + 1
    );
    let counted = total(&tx.fetch_text("counting rows", &text, Vec::new()).await?)?.unwrap_or(0);
    if counted <= most {
        return Ok(Rows::Exactly(counted));
    }
    let estimate = match tx.dialect() {
        Dialect::Postgres => tx.fetch_all(sql!("schema/rows_postgres"), binds![table]).await?,
        Dialect::MySql | Dialect::MariaDb => tx.fetch_all(sql!("schema/rows_mysql"), binds![table]).await?,
        // Rows are numbered, and the last number is found at once; what was deleted counts as well.
        Dialect::Sqlite => {
            let text = format!("SELECT MAX(rowid) AS total FROM {{name:{table}}}");
            tx.fetch_text("estimating rows", &text, Vec::new()).await?
        }
    };
    Ok(match total(&estimate)? {
        Some(about) if about > most => Rows::About(about),
        _ => Rows::MoreThan(most),
    })
}

fn total(rows: &[crate::statement::Row]) -> Result<Option<i64>, Error> {
    Ok(rows.first().map(|row| row.optional::<i64>("total")).transpose()?.flatten())
}
