//! `dag_priority_parsing_request`: files that are to be parsed at once.

use crate::statement::{Bind, binds, sql};
use crate::{Error, Tx};

/// A file to parse at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsingRequest {
    /// The bundle that it is in.
    pub bundle_name: String,
    /// Where it is in the bundle.
    pub relative_fileloc: String,
}

/// Asks for a file. The id tells one request for a file from that for another: a second one is an error.
pub async fn insert(tx: &mut Tx, id: &str, bundle: &str, relative_fileloc: &str) -> Result<(), Error> {
    tx.execute(sql!("dag_priority_parsing_request/insert"), binds![id, bundle, relative_fileloc]).await?;
    Ok(())
}

/// Whether there is a request for a file of these bundles.
pub async fn is_any(tx: &mut Tx, bundles: &[String]) -> Result<bool, Error> {
    let names: Bind = bundles.iter().map(String::as_str).collect();
    Ok(tx.fetch_optional(sql!("dag_priority_parsing_request/any"), binds![names]).await?.is_some())
}

/// Takes the requests for files of these bundles off the table: each is for one processor.
pub async fn take(tx: &mut Tx, bundles: &[String]) -> Result<Vec<ParsingRequest>, Error> {
    let names: Bind = bundles.iter().map(String::as_str).collect();
    let rows = tx.fetch_all(sql!("dag_priority_parsing_request/lock"), binds![names]).await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    // One for a file that cannot be read goes, too: it could never be parsed.
    let ids: Bind = tx.readable(&rows, |row| row.get::<String>("id"))?.into_iter().collect();
    tx.execute(sql!("dag_priority_parsing_request/delete"), binds![ids]).await?;
    tx.readable(&rows, |row| {
        // One that could not be taken off the table would be found again and again.
        row.get::<String>("id")?;
        Ok(ParsingRequest {
            bundle_name: row.get("bundle_name")?,
            relative_fileloc: row.get("relative_fileloc")?,
        })
    })
}
