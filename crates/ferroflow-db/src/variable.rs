//! `variable`: values that users set by name, encrypted where a key is configured.

use jiff::Timestamp;

use crate::encoding::fernet::{Fernet, FernetError, Stored};
use crate::statement::{Row, binds, sql};
use crate::{Error, Tx};

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

impl Variable {
    /// Whether user code of this team may see it: a variable of no team is visible to all.
    pub fn is_visible_to(&self, team_name: Option<&str>) -> bool {
        self.team_name.is_none() || self.team_name.as_deref() == team_name
    }
}

/// One variable. One without a value counts as absent, as Airflow sees it.
pub async fn get(tx: &mut Tx, fernet: &Fernet, key: &str) -> Result<Option<Variable>, Error> {
    let Some(row) = tx.fetch_optional(sql!("variable/get"), binds![key]).await? else {
        return Ok(None);
    };
    if stored(&row)?.is_none() {
        return Ok(None);
    }
    decrypted(&row, fernet).map(Some)
}

fn decrypted(row: &Row, fernet: &Fernet) -> Result<Variable, Error> {
    let key: String = row.get("key")?;
    let val = match stored(row)? {
        Some(stored) => fernet.decrypt(&stored).map_err(about(&key))?,
        None => String::new(),
    };
    Ok(Variable {
        key,
        val,
        description: row.optional("description")?,
        team_name: row.optional("team_name")?,
    })
}

/// All variables, in the order in which they were made. One without a value has an empty one.
pub async fn all(tx: &mut Tx, fernet: &Fernet) -> Result<Vec<Variable>, Error> {
    let rows = tx.fetch_all(sql!("variable/all"), Vec::new()).await?;
    rows.iter().map(|row| decrypted(row, fernet)).collect()
}

/// Deletes a variable. False if there is none of that name.
pub async fn delete(tx: &mut Tx, key: &str) -> Result<bool, Error> {
    Ok(tx.execute(sql!("variable/delete"), binds![key]).await? == 1)
}

/// Deletes a variable unless it belongs to another team. False if nothing was deleted.
pub async fn delete_visible(tx: &mut Tx, key: &str, team_name: Option<&str>) -> Result<bool, Error> {
    Ok(tx.execute(sql!("variable/delete_visible"), binds![key, team_name]).await? == 1)
}

/// The names that begin with `prefix`, in order: how many there are, and a page of them.
pub async fn keys(tx: &mut Tx, prefix: &str, limit: i64, offset: i64) -> Result<(i64, Vec<String>), Error> {
    let pattern = starting_with(prefix);
    let counted = tx.fetch_optional(sql!("variable/count_keys"), binds![pattern.as_str()]).await?;
    let total = counted.map_or(Ok(0), |row| row.get("total"))?;
    let rows = tx.fetch_all(sql!("variable/keys"), binds![pattern, limit, offset]).await?;
    Ok((total, rows.iter().map(|row| row.get("key")).collect::<Result<_, _>>()?))
}

fn starting_with(prefix: &str) -> String {
    let mut pattern = String::with_capacity(prefix.len() + 1);
    for c in prefix.chars() {
        if matches!(c, '%' | '_' | '/') {
            pattern.push('/');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

fn stored(row: &Row) -> Result<Option<Stored>, Error> {
    let is_encrypted = row.optional("is_encrypted")?.unwrap_or(false);
    Ok(row.optional("val")?.map(|text| Stored { text, is_encrypted }))
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
