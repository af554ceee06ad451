//! An asset has changed: the event is written, and every DAG that waits for it is told.

use std::collections::BTreeSet;

use ferroflow_db::asset::registration::{self, Consumers, Listener, NewEvent};
use ferroflow_db::asset::{self, dag_run_queue};
use ferroflow_db::asset_partition_dag_run::{self, Arrival};
use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_db::{Error, Json, Tx};
use ferroflow_model::asset::AssetAlias;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::mapped::{Mapped, Untold, about, mapped};
use super::mappings::Mappings;

/// What the configuration says about changes of assets.
#[derive(Clone, Copy, Debug)]
pub struct EventRules {
    /// `[core] multi_team`.
    pub multi_team: bool,
    /// `[scheduler] partition_mapper_max_downstream_keys`: one partition of an asset is for at most as many partitions
    /// of a DAG.
    pub max_downstream_keys: u32,
}

/// A change of an asset.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The row of the asset.
    pub asset_id: i64,
    /// Its name.
    pub name: &'a str,
    /// Its URI.
    pub uri: &'a str,
    /// The aliases that it came through.
    pub aliases: &'a BTreeSet<String>,
    /// What is said about it: an object, or nothing.
    pub extra: &'a Value,
    /// The partition that changed.
    pub partition_key: Option<&'a str>,
    /// The date that this stands for.
    pub partition_date: Option<Timestamp>,
    /// The task instance that changed it; nobody, if it was seen from outside.
    pub source: Option<Source<'a>>,
}

/// A task instance that changes assets.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What it is of.
    pub key: &'a TaskInstanceKey,
    /// Which try it is.
    pub try_number: i32,
    /// The date that its run stands for.
    pub logical_date: Option<Timestamp>,
    /// The team of its DAG.
    pub team_name: Option<&'a str>,
}

/// Writes the event of a change and tells every DAG that waits for the asset and is not paused. Returns the event.
///
/// Python may have to be asked first how a key is mapped. So, before the transaction ends, `mappings` have to be asked
/// whether they [are known](Mappings::are_known): once for all changes, so that Python is asked about all at once.
pub async fn register(
    tx: &mut Tx,
    rules: &EventRules,
    change: &Change<'_>,
    mappings: &Mappings,
    now: Timestamp,
) -> Result<i64, Error> {
    let mut alias_ids = Vec::with_capacity(change.aliases.len());
    for name in change.aliases {
        // An alias that nobody has declared has no group.
        let alias = AssetAlias { name: name.clone(), group: String::new() };
        let id = asset::alias::insert_if_missing(tx, &alias).await?.id;
        registration::tie_alias(tx, id, change.asset_id).await?;
        alias_ids.push(id);
    }
    let extra = if is_empty(change.extra) { Json::from(json!({})) } else { Json::from(change.extra) };
    let event = NewEvent {
        asset_id: change.asset_id,
        extra: &extra,
        source: change.source.map(|source| source.key),
        partition_key: change.partition_key,
    };
    let event_id = registration::insert_event(tx, &event, &alias_ids, now).await?;
    let key = (change.name, change.uri);
    let mut listeners = registration::listeners(tx, change.asset_id, key, &alias_ids).await?;
    if rules.multi_team && !listeners.is_empty() {
        let consumers = match change.source {
            Some(source) => registration::consumers(tx, source.key, change.asset_id).await?,
            None => None,
        };
        let team = change.source.and_then(|source| source.team_name);
        listeners.retain(|listener| may_see(listener, team, consumers.as_ref()));
    }
    let (partitioned, others): (Vec<Listener>, Vec<Listener>) =
        listeners.into_iter().partition(|listener| listener.is_partitioned);
    let told = PartitionsOf { rules, change, event_id, mappings };
    told.tell(tx, &partitioned, now).await?;
    if change.partition_key.is_none() {
        for listener in &others {
            dag_run_queue::add(tx, change.asset_id, &listener.dag_id, now).await?;
        }
    }
    if !(partitioned.is_empty() && others.is_empty()) {
        notifications::notify(tx, Notification::Assets).await?;
    }
    Ok(event_id)
}

/// Whether a DAG and the team of a task agree: the DAG takes what the team makes, and the task shows it to the DAG's
/// team.
fn may_see(listener: &Listener, source_team: Option<&str>, consumers: Option<&Consumers>) -> bool {
    let own_team = listener.team_name.as_deref();
    let takes = match (own_team, source_team) {
        (None, _) => true,
        (Some(_), None) => listener.takes_global,
        (Some(own), Some(source)) => {
            own == source || listener.producer_teams.iter().any(|team| team == source)
        }
    };
    let is_shown = match (consumers, own_team) {
        (None, _) => true,
        (Some(consumers), None) => consumers.allow_global,
        (Some(consumers), Some(own)) => {
            let is_same = Some(own) == source_team;
            is_same || consumers.teams.as_ref().is_none_or(|teams| teams.iter().any(|team| team == own))
        }
    };
    takes && is_shown
}

/// What DAGs whose runs stand for partitions are told of.
struct PartitionsOf<'a> {
    rules: &'a EventRules,
    change: &'a Change<'a>,
    event_id: i64,
    mappings: &'a Mappings,
}

impl PartitionsOf<'_> {
    /// Each DAG is told for each of its partitions that the partition of the asset is for.
    async fn tell(&self, tx: &mut Tx, listeners: &[Listener], now: Timestamp) -> Result<(), Error> {
        let change = self.change;
        if listeners.is_empty() {
            return Ok(());
        }
        let Some(source_key) = change.partition_key.filter(|key| !key.is_empty()) else {
            let dags: Vec<&str> = listeners.iter().map(|listener| listener.dag_id.as_str()).collect();
            let extra = format!(
                "DAGs whose runs stand for partitions wait for this asset, and its change has no partition key \
                 (listening_dags={dags:?}, asset_id={})",
                change.asset_id
            );
            return note(tx, change, "missing partition key", extra, now).await;
        };
        for listener in listeners {
            let dag_id = &listener.dag_id;
            let told = match mapped(tx, self.rules, change, self.mappings, source_key, dag_id).await? {
                Ok(mapped) => self.arrive(tx, source_key, dag_id, &mapped, now).await?,
                Err(untold) => Err(untold),
            };
            if let Err(Untold::Failed { event, extra }) = told {
                note(tx, change, event, extra, now).await?;
            }
        }
        Ok(())
    }

    async fn arrive(
        &self,
        tx: &mut Tx,
        source_key: &str,
        dag_id: &str,
        mapped: &Mapped,
        now: Timestamp,
    ) -> Result<Result<(), Untold>, Error> {
        let asset_id = self.change.asset_id;
        for target_key in &mapped.keys {
            let partition = match partition(tx, asset_id, dag_id, target_key, mapped, now).await {
                Err(Error::Column(bad)) => {
                    tx.unreadable().note(&bad);
                    return Ok(Err(Untold::failed(&about(self.change, source_key, dag_id), &bad)));
                }
                partition => partition?,
            };
            let arrival =
                Arrival { asset_id, event_id: self.event_id, source_key, target_dag_id: dag_id, target_key };
            asset_partition_dag_run::note_arrival(tx, partition, &arrival, now).await?;
        }
        Ok(Ok(()))
    }
}

/// The row of a partition that has no run yet: the one that is there, or a new one.
async fn partition(
    tx: &mut Tx,
    asset_id: i64,
    dag_id: &str,
    key: &str,
    mapped: &Mapped,
    now: Timestamp,
) -> Result<i64, Error> {
    registration::lock_asset(tx, asset_id).await?;
    let newest = asset_partition_dag_run::newest(tx, dag_id, key).await?;
    let Some(waiting) = newest.filter(|newest| !newest.has_run) else {
        let fingerprint = mapped.fingerprint.clone();
        return asset_partition_dag_run::insert(tx, dag_id, key, mapped.date, fingerprint, now).await;
    };
    match (waiting.partition_date, mapped.date) {
        (None, Some(date)) => {
            asset_partition_dag_run::set_partition_date(tx, waiting.id, Some(date), now).await?;
        }
        // Which came first must not decide.
        (Some(known), Some(date)) if known != date => {
            tracing::warn!(dag_id, key, %known, %date, "assets do not agree on the date of a partition; it has none");
            asset_partition_dag_run::set_partition_date(tx, waiting.id, None, now).await?;
        }
        _ => {}
    }
    Ok(waiting.id)
}

async fn note(
    tx: &mut Tx,
    change: &Change<'_>,
    event: &str,
    extra: String,
    now: Timestamp,
) -> Result<(), Error> {
    let key = change.source.map(|source| source.key);
    let entry = AuditEntry {
        dttm: Some(now),
        event: event.to_owned(),
        dag_id: key.map(|key| key.dag_id.clone()),
        run_id: key.map(|key| key.run_id.clone()),
        task_id: key.map(|key| key.task_id.clone()),
        map_index: key.map(|key| key.map_index),
        try_number: change.source.map(|source| source.try_number),
        logical_date: change.source.and_then(|source| source.logical_date),
        owner: None,
        owner_display_name: None,
        extra: Some(extra),
    };
    audit_log::insert(tx, &entry).await
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    /// The teams that a task shows its changes to, and whether it shows them to those without a team.
    type Shown = Option<(Option<&'static [&'static str]>, bool)>;

    #[test_case(None, Some("a"), None => true; "one without a team takes everything")]
    #[test_case(Some("a"), Some("a"), None => true; "of the same team")]
    #[test_case(Some("a"), Some("b"), None => true; "of a team that it takes from")]
    #[test_case(Some("a"), Some("c"), None => false; "of another team")]
    #[test_case(Some("a"), None, None => false; "it takes nothing without a team")]
    #[test_case(Some("a"), Some("b"), Some((Some(&[]), true)) => false; "shown to nobody else")]
    #[test_case(Some("a"), Some("a"), Some((Some(&[]), true)) => true; "shown to the same team all the same")]
    #[test_case(Some("a"), Some("b"), Some((Some(&["a"]), true)) => true; "shown to its team")]
    #[test_case(Some("a"), Some("b"), Some((None, false)) => true; "shown to every team")]
    #[test_case(None, Some("b"), Some((None, false)) => false; "shown to teams only")]
    fn teams_see(own: Option<&str>, source: Option<&str>, shown: Shown) -> bool {
        let listener = Listener {
            dag_id: "dag".to_owned(),
            is_partitioned: false,
            team_name: own.map(str::to_owned),
            producer_teams: vec!["b".to_owned()],
            takes_global: false,
        };
        let consumers = shown.map(|(teams, allow_global)| Consumers {
            teams: teams.map(|teams| teams.iter().map(|team| (*team).to_owned()).collect()),
            allow_global,
        });
        may_see(&listener, source, consumers.as_ref())
    }
}
