//! `dag_bundle`: where DAG files come from.

use crate::Json;
use crate::bind::binds;
use crate::error::Error;
use crate::statement::sql;
use crate::tx::Tx;

/// Makes an active bundle of that name, unless there is one of it already, which stays as it is. One without
/// a link to its source has no parameters for the link either: an empty dict, not NULL.
pub async fn insert_if_missing(tx: &mut Tx, name: &str) -> Result<(), Error> {
    let no_parameters = Json::from(serde_json::json!({}));
    tx.execute(sql!("dag_bundle/insert_if_missing"), binds![name, true, no_parameters]).await?;
    Ok(())
}
