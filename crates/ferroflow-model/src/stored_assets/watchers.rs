//! Which triggers watch an asset from outside.

use serde_json::Value;

use crate::Json;
use crate::asset::Asset;

/// A trigger, by what makes it this one: two of the same class and arguments would see the same events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTrigger {
    /// The import path of its class.
    pub classpath: String,
    /// Its arguments, encoded as the document has them; the triggerer decodes them.
    pub kwargs: Value,
}

/// A watcher that an asset should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedWatcher {
    /// Its name.
    pub name: String,
    /// What watches.
    pub trigger: EventTrigger,
    /// The arguments to the letter, for the code that stores them.
    pub kwargs: Json,
}

/// A watcher as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWatcher {
    /// The asset.
    pub asset_id: i64,
    /// The row of the trigger.
    pub trigger_id: i64,
    /// What watches; `None` if its arguments cannot be read.
    pub trigger: Option<EventTrigger>,
}

/// What to do for an asset to be watched as it should.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatcherChanges {
    /// To be added.
    pub added: Vec<WantedWatcher>,
    /// The rows of triggers that shall watch it no longer.
    pub removed: Vec<i64>,
}

/// The watchers of an asset, each trigger once; of two names for one trigger the last is kept.
pub fn wanted_watchers(asset: &Asset) -> Vec<WantedWatcher> {
    let mut wanted: Vec<WantedWatcher> = Vec::new();
    for watcher in &asset.watchers {
        // Arguments nested deeper than anybody means have no value to compare; they are not stored.
        let Ok(kwargs) = watcher.trigger_kwargs.value() else { continue };
        let trigger = EventTrigger { classpath: watcher.trigger_class.clone(), kwargs };
        wanted.retain(|other| other.trigger != trigger);
        wanted.push(WantedWatcher {
            name: watcher.name.clone(),
            trigger,
            kwargs: watcher.trigger_kwargs.clone(),
        });
    }
    wanted
}

/// What has to change for the watchers of one asset to be the wanted ones. A watcher with another name for the same
/// trigger stays, as Airflow leaves it.
pub fn watcher_changes(wanted: Vec<WantedWatcher>, stored: &[StoredWatcher]) -> WatcherChanges {
    let is_wanted = |row: &&StoredWatcher| {
        row.trigger.as_ref().is_some_and(|trigger| wanted.iter().any(|watcher| watcher.trigger == *trigger))
    };
    let removed = stored.iter().filter(|row| !is_wanted(row)).map(|row| row.trigger_id).collect();
    let is_stored = |watcher: &WantedWatcher| {
        stored.iter().any(|row| row.trigger.as_ref().is_some_and(|trigger| *trigger == watcher.trigger))
    };
    let mut added = wanted;
    added.retain(|watcher| !is_stored(watcher));
    WatcherChanges { added, removed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asset::AssetWatcher;
    use serde_json::json;

    fn watcher(name: &str, kwargs: &str) -> AssetWatcher {
        AssetWatcher {
            name: name.to_owned(),
            trigger_class: "x.T".to_owned(),
            trigger_kwargs: Json::from_text(kwargs.to_owned()).unwrap(),
        }
    }

    fn watched(watchers: Vec<AssetWatcher>) -> Asset {
        let text = || "a".to_owned();
        let extra = Json::from(json!({}));
        Asset { name: text(), uri: text(), group: text(), extra, watchers, access_control: None }
    }

    fn stored(trigger_id: i64, kwargs: Option<Value>) -> StoredWatcher {
        let trigger = kwargs.map(|kwargs| EventTrigger { classpath: "x.T".to_owned(), kwargs });
        StoredWatcher { asset_id: 1, trigger_id, trigger }
    }

    #[test]
    fn one_trigger_under_two_names_watches_once() {
        let watchers =
            vec![watcher("a", r#"{"q":1,"r":2}"#), watcher("b", "{}"), watcher("c", r#"{"r": 2, "q": 1}"#)];
        let wanted = wanted_watchers(&watched(watchers));
        assert_eq!(wanted.iter().map(|watcher| &*watcher.name).collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!(wanted[1].kwargs.text(), r#"{"r": 2, "q": 1}"#);
    }

    #[test]
    fn triggers_are_told_apart_by_class_and_arguments() {
        let wanted =
            wanted_watchers(&watched(vec![watcher("same", r#"{"q": 1}"#), watcher("new", r#"{"q": 2}"#)]));
        let rows = [stored(1, Some(json!({"q": 1}))), stored(2, Some(json!({"q": 3}))), stored(3, None)];
        let changes = watcher_changes(wanted, &rows);
        assert_eq!(changes.added.iter().map(|watcher| &*watcher.name).collect::<Vec<_>>(), ["new"]);
        assert_eq!(changes.removed, [2, 3]);
        assert_eq!(watcher_changes(Vec::new(), &rows).removed, [1, 2, 3]);
    }
}
