//! `trigger`: what a triggerer runs for deferred tasks, callbacks, and, here, for assets that are watched.

use ferroflow_model::standard_json;
use ferroflow_model::stored_assets::{EventTrigger, WantedWatcher};
use jiff::Timestamp;
use serde_json::Value;

use crate::encoding::fernet::{Fernet, Stored};
use crate::statement::{BATCH, Bind, Row, binds, sql};
use crate::{Error, Tx};

/// A trigger that no task and no callback waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeTrigger {
    /// Its id.
    pub id: i64,
    /// The team whose triggerers run it.
    pub team_name: Option<String>,
    /// What it is; `None` if its arguments cannot be read.
    pub trigger: Option<EventTrigger>,
}

/// The triggers of these classes that an asset may share.
pub async fn find_free(tx: &mut Tx, fernet: &Fernet, classpaths: &[&str]) -> Result<Vec<FreeTrigger>, Error> {
    let mut found = Vec::new();
    for classpaths in classpaths.chunks(BATCH) {
        let list: Bind = classpaths.iter().copied().collect();
        let rows = tx.fetch_all(sql!("trigger/find_free"), vec![list]).await?;
        found.extend(tx.readable(&rows, |row| {
            Ok(FreeTrigger {
                id: row.get("id")?,
                team_name: row.optional("team_name")?,
                trigger: event_trigger(row, fernet)?,
            })
        })?);
    }
    Ok(found)
}

/// Keeps a trigger from being deleted until the transaction ends. False if it is gone, or if another transaction is about to
/// delete it.
pub async fn lock(tx: &mut Tx, id: i64) -> Result<bool, Error> {
    Ok(tx.fetch_optional(sql!("trigger/lock"), binds![id]).await?.is_some())
}

/// Adds the trigger of a task instance and returns its id. The arguments are encrypted as far as there is a key.
pub async fn insert_at_start(
    tx: &mut Tx,
    fernet: &Fernet,
    classpath: &str,
    kwargs: &str,
    team_name: Option<&str>,
    now: Timestamp,
) -> Result<i64, Error> {
    let kwargs = fernet.encrypt(kwargs, now).text;
    tx.insert(sql!("trigger/insert"), binds![classpath, kwargs, now, team_name]).await
}

/// Adds the trigger of a watcher and returns its id. The arguments are encrypted as far as there is a key.
pub async fn insert(
    tx: &mut Tx,
    fernet: &Fernet,
    watcher: &WantedWatcher,
    team_name: Option<&str>,
    now: Timestamp,
) -> Result<i64, Error> {
    let kwargs = fernet.encrypt(watcher.kwargs.text(), now).text;
    let binds = binds![watcher.trigger.classpath.as_str(), kwargs, now, team_name];
    tx.insert(sql!("trigger/insert"), binds).await
}

/// What a deferred task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskTrigger<'a> {
    /// The class of the trigger.
    pub classpath: &'a str,
    /// Its arguments, as the column keeps them: JSON, or what was encrypted elsewhere.
    pub kwargs: &'a str,
    /// The queue of triggerers.
    pub queue: Option<&'a str>,
    /// The team whose triggerers run it.
    pub team_name: Option<&'a str>,
}

/// Adds the trigger of a deferred task and returns its id.
pub async fn insert_for_task(tx: &mut Tx, trigger: &TaskTrigger<'_>, now: Timestamp) -> Result<i64, Error> {
    let binds = binds![trigger.classpath, trigger.kwargs, now, trigger.queue, trigger.team_name];
    tx.insert(sql!("trigger/insert_for_task"), binds).await
}

/// Removes a trigger.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<(), Error> {
    tx.execute(sql!("trigger/delete"), binds![id]).await?;
    Ok(())
}

/// The team that a bundle belongs to.
pub async fn team_of_bundle(tx: &mut Tx, bundle_name: &str) -> Result<Option<String>, Error> {
    let row = tx.fetch_optional(sql!("dag_bundle_team/find"), binds![bundle_name]).await?;
    row.map(|row| row.get("team_name")).transpose()
}

/// What the columns `classpath` and `kwargs` say.
pub(crate) fn event_trigger(row: &Row, fernet: &Fernet) -> Result<Option<EventTrigger>, Error> {
    let (classpath, stored): (String, String) = (row.get("classpath")?, row.get("kwargs")?);
    Ok(kwargs(stored, fernet).map(|kwargs| EventTrigger { classpath, kwargs }))
}

/// The arguments, in either of the forms that Airflow has written them in, or nothing if no key fits.
fn kwargs(stored: String, fernet: &Fernet) -> Option<Value> {
    let is_encrypted = !stored.starts_with('{');
    let text = fernet.decrypt(&Stored { text: stored, is_encrypted }).ok()?;
    let mut value: Value = serde_json::from_str(&standard_json(&text)).ok()?;
    let is_envelope = value.get("__type").is_some_and(|kind| kind == "dict");
    if is_envelope && let Some(inside) = value.get_mut("__var") {
        return Some(inside.take());
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_read_in_every_form_that_was_ever_written() {
        let fernet = Fernet::new("cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=").unwrap();
        let plain = r#"{"q": 1}"#;
        let token = fernet.encrypt(plain, Timestamp::UNIX_EPOCH).text;
        for stored in [plain, r#"{"__type": "dict", "__var": {"q": 1}}"#, token.as_str()] {
            assert_eq!(kwargs(stored.to_owned(), &fernet), Some(json!({"q": 1})), "{stored}");
        }
        assert_eq!(kwargs(token, &Fernet::default()), None);
    }
}
