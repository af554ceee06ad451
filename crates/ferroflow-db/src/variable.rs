//! `variable`: values that users set by name, encrypted where a key is configured.

use jiff::Timestamp;

use crate::bind::binds;
use crate::encoding::fernet::{Fernet, FernetError, Stored};
use crate::error::Error;
use crate::row::Row;
use crate::statement::sql;
use crate::tx::Tx;

/// A variable, in plain text.
#[derive(Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub key: String,
    /// Its value.
    pub val: String,
    /// What it is for.
    pub description: Option<String>,
    /// The team it belongs to.
    pub team_name: Option<String>,
}

/// Sets a variable, new or not. One that exists stays with its team.
pub async fn set(tx: &mut Tx, fernet: &Fernet, variable: &Variable, now: Timestamp) -> Result<(), Error> {
    let stored = fernet.encrypt(&variable.val, now);
    let binds = binds![
        variable.key.as_str(),
        stored.text,
        variable.description.as_deref(),
        stored.is_encrypted,
        variable.team_name.as_deref(),
    ];
    tx.execute(sql!("variable/set"), binds).await?;
    Ok(())
}

/// One variable.
pub async fn get(tx: &mut Tx, fernet: &Fernet, key: &str) -> Result<Option<Variable>, Error> {
    let Some(row) = tx.fetch_optional(sql!("variable/get"), binds![key]).await? else {
        return Ok(None);
    };
    Ok(Some(Variable {
        key: row.get("key")?,
        val: fernet.decrypt(&stored(&row)?).map_err(about(key))?,
        description: row.optional("description")?,
        team_name: row.optional("team_name")?,
    }))
}

/// Deletes a variable. False if there is none of that name.
pub async fn delete(tx: &mut Tx, key: &str) -> Result<bool, Error> {
    Ok(tx.execute(sql!("variable/delete"), binds![key]).await? == 1)
}

fn stored(row: &Row) -> Result<Stored, Error> {
    Ok(Stored { text: row.get("val")?, is_encrypted: row.get("is_encrypted")? })
}

fn about(key: &str) -> impl FnOnce(FernetError) -> Error {
    move |source| Error::Fernet { what: format!("variable {key}"), source }
}

/// Never shows the value.
impl std::fmt::Debug for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Variable({})", self.key)
    }
}
