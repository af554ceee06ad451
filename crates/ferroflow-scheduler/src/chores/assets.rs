//! Which assets are in use.
//!
//! No lock: what goes out of use is deleted by a statement that looks once more whether something refers to it, and what
//! two schedulers activate at once is activated once, since names and URIs are unique. A DAG that refers to an asset
//! while it goes out of use has it back by the next chore.

use ferroflow_db::asset::orphans::FoundAsset;
use ferroflow_db::dag::warning::DagWarning;
use ferroflow_db::{Error as DbError, Page, ScopedFutureExt as _, Tx, asset, dag};
use ferroflow_model::stored_assets::{WaitingAsset, activation};
use ferroflow_telemetry::metrics::runs;
use jiff::Timestamp;

use super::report::Report;
use super::{Chore, reported};
use crate::metrics::Told;
use crate::refused::{Done, SetAside, or_set_aside};
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "assets in use",
    every: |settings| Some(settings.scheduler.parsing_cleanup_interval),
    run: |given| reported(assets(given.cx, given.now)),
};

/// How many go out of use in one transaction.
const BATCH: u32 = 500;

/// How Airflow calls the warning about an asset that cannot be used.
const CONFLICT: &str = "asset conflict";

/// What has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assets {
    /// Names and URIs of those that went out of use.
    pub orphaned: Vec<(String, String)>,
    /// Names and URIs of those that came into use.
    pub activated: Vec<(String, String)>,
    /// The DAGs that are warned, each with the reason.
    pub warned: Vec<(String, String)>,
    /// How many values were dropped that were kept for assets out of use.
    pub dropped_values: u64,
    /// What stays as it is.
    pub set_aside: Vec<SetAside>,
}

impl Report for Assets {
    fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    fn measure(&self, _told: &mut Told) {
        runs::assets_orphaned(self.orphaned.len());
    }
}

/// Takes assets out of use that nothing refers to, and into use what something does.
pub async fn assets(cx: &Context, now: Timestamp) -> Result<Assets, Error> {
    let mut report = Assets::default();
    let mut after = Some(i64::MIN);
    while let Some(id) = after {
        cx.progress.gets_on();
        let (retired, next) = cx.db.transact_in_parts(|tx| retire(tx, id).scope_boxed()).await?;
        report.orphaned.extend(retired.done);
        report.set_aside.extend(retired.set_aside);
        after = next;
    }
    cx.progress.gets_on();
    let activated = cx.db.transact_in_parts(|tx| activate(tx, now).scope_boxed()).await?;
    (report.activated, report.warned) = activated.done;
    report.set_aside.extend(activated.set_aside);
    let dropped =
        cx.db.transact(|tx| async move { asset::orphans::drop_state(tx).await }.scope_boxed()).await;
    match dropped {
        Err(error) if !error.is_about_rows() => return Err(error.into()),
        dropped => {
            let row = |reason| SetAside::row("what was kept for assets out of use".to_owned(), reason);
            let dropped = or_set_aside(dropped, cx.db.unreadable(), row, &mut report.set_aside);
            report.dropped_values = dropped.unwrap_or_default();
        }
    }
    Ok(report)
}

type Keys = Vec<(String, String)>;

async fn retire(tx: &mut Tx, after: i64) -> Result<(Done<Keys>, Option<i64>), DbError> {
    let Page { found, next } = asset::orphans::unreferenced(tx, after, BATCH).await?;
    let mut retired = Done::<Keys>::default();
    for one in found {
        tx.begin_part().await?;
        let is_retired = asset::orphans::retire(tx, &one).await;
        let is_retired = tx.end_part(is_retired).await?;
        let row = |reason| SetAside::row(format!("asset {} ({})", one.name, one.uri), reason);
        if or_set_aside(is_retired, tx.unreadable(), row, &mut retired.set_aside) == Some(true) {
            retired.done.push((one.name, one.uri));
        }
    }
    Ok((retired, next))
}

async fn activate(tx: &mut Tx, now: Timestamp) -> Result<Done<(Keys, Keys)>, DbError> {
    let found = asset::orphans::waiting(tx).await?;
    let key = |asset: &'_ FoundAsset| (asset.name.clone(), asset.uri.clone());
    let keys: Keys = found.iter().map(|(asset, _, _)| key(asset)).collect();
    let keys: Vec<(&str, &str)> = keys.iter().map(|(name, uri)| (name.as_str(), uri.as_str())).collect();
    let claims = if keys.is_empty() { Vec::new() } else { asset::orphans::claims(tx, &keys).await? };
    let claims: Vec<(&str, &str)> = claims.iter().map(|(name, uri)| (name.as_str(), uri.as_str())).collect();
    let waiting: Vec<WaitingAsset<'_>> = found
        .iter()
        .zip(&keys)
        .map(|((_, group, dags), key)| WaitingAsset { key: *key, group, dags })
        .collect();
    let decided = activation(&waiting, &claims);
    let (mut activated, mut set_aside) = (Keys::new(), Vec::new());
    for (name, uri) in &decided.activated {
        tx.begin_part().await?;
        let done = asset::active::insert_unless_claimed(tx, (name, uri)).await;
        let done = tx.end_part(done).await?;
        let row = |reason| SetAside::row(format!("asset {name} ({uri})"), reason);
        if or_set_aside(done, tx.unreadable(), row, &mut set_aside).is_some() {
            activated.push(((*name).to_owned(), (*uri).to_owned()));
        }
    }
    let warned: Keys =
        decided.warnings.iter().map(|(dag, message)| ((*dag).to_owned(), message.clone())).collect();
    warn(tx, &warned, now, &mut set_aside).await?;
    Ok(Done { done: (activated, warned), set_aside })
}

/// Makes the warnings what they should be, and writes only what is not.
async fn warn(
    tx: &mut Tx,
    wanted: &[(String, String)],
    now: Timestamp,
    set_aside: &mut Vec<SetAside>,
) -> Result<(), DbError> {
    let stored = asset::orphans::warnings(tx, CONFLICT).await?;
    for old in &stored {
        if !wanted.iter().any(|(dag, _)| *dag == old.dag_id) {
            tx.begin_part().await?;
            let deleted = dag::warning::delete(tx, &old.dag_id, CONFLICT).await;
            let deleted = tx.end_part(deleted).await?;
            or_set_aside(deleted, tx.unreadable(), |reason| warning_of(&old.dag_id, reason), set_aside);
        }
    }
    for (dag_id, message) in wanted {
        if stored.iter().any(|old| old.dag_id == *dag_id && old.message == *message) {
            continue;
        }
        let warning = DagWarning {
            dag_id: dag_id.clone(),
            warning_type: CONFLICT.to_owned(),
            message: message.clone(),
        };
        tx.begin_part().await?;
        let warned = asset::orphans::warn(tx, &warning, now).await;
        let warned = tx.end_part(warned).await?;
        or_set_aside(warned, tx.unreadable(), |reason| warning_of(dag_id, reason), set_aside);
    }
    Ok(())
}

fn warning_of(dag_id: &str, reason: String) -> SetAside {
    SetAside { dag_id: Some(dag_id.to_owned()), row: format!("the warning of DAG {dag_id}"), reason }
}
