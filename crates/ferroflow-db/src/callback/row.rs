//! `callback`: the callbacks of DAGs and tasks, and which component runs each.

use ferroflow_model::state::CallbackState;
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{Bind, Row, binds, sql};
use crate::{Error, Json, Tx};

/// One callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Its identity.
    pub id: Uuid,
    /// Who calls it: `triggerer`, `executor` or `dag_processor`.
    pub callback_type: String,
    /// How it is found: `import_path`, or `dag_attribute` for the DAG processor.
    pub fetch_method: String,
    /// What to call, as it is stored: [`ferroflow_model::extended_json`], whose envelopes of other types
    /// than dicts would not survive being decoded and encoded again.
    pub data: Json,
    /// The bundle whose DAG processor calls it.
    pub bundle_name: Option<String>,
    /// Where it stands. One for the DAG processor has no state.
    pub state: Option<CallbackState>,
    /// What it returned, or how it failed.
    pub output: Option<String>,
    /// The higher, the earlier.
    pub priority_weight: i32,
    /// When it was made.
    pub created_at: Timestamp,
    /// The trigger that calls it.
    pub trigger_id: Option<i64>,
}

/// Adds a callback.
pub async fn insert(tx: &mut Tx, callback: &Callback) -> Result<(), Error> {
    let binds = binds![
        callback.id,
        callback.callback_type.as_str(),
        callback.fetch_method.as_str(),
        callback.data.clone(),
        callback.bundle_name.as_deref(),
        callback.state.map(CallbackState::as_str),
        callback.output.as_deref(),
        callback.priority_weight,
        callback.created_at,
        callback.trigger_id,
    ];
    tx.execute(sql!("callback/insert"), binds).await?;
    Ok(())
}

/// One callback.
pub async fn find(tx: &mut Tx, id: Uuid) -> Result<Option<Callback>, Error> {
    let row = tx.fetch_optional(sql!("callback/find"), binds![id]).await?;
    row.as_ref().map(callback).transpose()
}

/// A callback that a DAG processor has claimed: no other runs it while that processor lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedCallback {
    /// Its identity.
    pub id: Uuid,
    /// What to call, as it is stored.
    pub data: Json,
    /// Who holds it: what stands in `bundle_name` meanwhile.
    pub holder: String,
}

impl ClaimedCallback {
    /// The job of the processor that holds it.
    pub fn job_id(&self) -> Option<i64> {
        self.holder.strip_prefix(HOLDER)?.split(':').next()?.parse().ok()
    }
}

/// How the name of a holder begins.
const HOLDER: &str = "ferroflow:";

/// Whether a callback of these bundles waits for a processor.
pub async fn is_any(tx: &mut Tx, bundles: &[String]) -> Result<bool, Error> {
    let names: Bind = bundles.iter().map(String::as_str).collect();
    Ok(tx.fetch_optional(sql!("callback/any_of_bundles"), binds![names]).await?.is_some())
}

/// Takes callbacks of these bundles, the weightiest first.
///
/// Airflow deletes what it takes, and loses it if it dies. Here the row stays until the callback was run; in
/// place of its bundle it names the job that holds it, so that no other processor, official ones included,
/// finds it.
pub async fn claim(
    tx: &mut Tx,
    bundles: &[String],
    limit: u32,
    job_id: i64,
) -> Result<Vec<ClaimedCallback>, Error> {
    hold_rows(tx, bundles, limit, |_| true, job_id).await
}

/// The same for those of which something is so, as many as there are.
pub async fn claim_some(
    tx: &mut Tx,
    bundles: &[String],
    is_wanted: impl Fn(&Json) -> bool + Send,
    job_id: i64,
) -> Result<Vec<ClaimedCallback>, Error> {
    hold_rows(tx, bundles, u32::MAX, is_wanted, job_id).await
}

async fn hold_rows(
    tx: &mut Tx,
    bundles: &[String],
    limit: u32,
    is_wanted: impl Fn(&Json) -> bool + Send,
    job_id: i64,
) -> Result<Vec<ClaimedCallback>, Error> {
    let names: Bind = bundles.iter().map(String::as_str).collect();
    let waiting = |row: &Row| {
        let (id, bundle): (Uuid, String) = (row.get("id")?, row.get("bundle_name")?);
        Ok((id, bundle, readable(row)))
    };
    let mut found =
        tx.first_readable(sql!("callback/lock_of_bundles"), binds![names], limit, waiting).await?;
    found.retain(|(_, _, data)| is_wanted(data));
    let mut held = Vec::with_capacity(found.len());
    for (id, bundle, data) in found {
        let holder: String = format!("{HOLDER}{job_id}:{bundle}").chars().take(250).collect();
        let running = CallbackState::Running.as_str();
        let binds = binds![holder.as_str(), running, id, bundle.as_str()];
        if tx.execute(sql!("callback/set_claim"), binds).await? == 1 {
            held.push(ClaimedCallback { id, data, holder });
        }
    }
    Ok(held)
}

/// Every callback that a processor of ours holds, whether it lives or not.
pub async fn claimed(tx: &mut Tx) -> Result<Vec<ClaimedCallback>, Error> {
    let rows = tx.fetch_all(sql!("callback/claimed"), Vec::new()).await?;
    tx.readable(&rows, |row| {
        Ok(ClaimedCallback { id: row.get("id")?, data: readable(row), holder: row.get("bundle_name")? })
    })
}

/// Gives a callback back to its bundle: the processor that claimed it did not run it. False if it is not claimed any more.
pub async fn release(tx: &mut Tx, callback: &ClaimedCallback, bundle: &str) -> Result<bool, Error> {
    let binds = binds![bundle, None::<&str>, callback.id, callback.holder.as_str()];
    Ok(tx.execute(sql!("callback/set_claim"), binds).await? == 1)
}

/// Removes a callback that was run. False if it is not held any more.
pub async fn delete_claimed(tx: &mut Tx, callback: &ClaimedCallback) -> Result<bool, Error> {
    let binds = binds![callback.id, callback.holder.as_str()];
    Ok(tx.execute(sql!("callback/delete_claimed"), binds).await? == 1)
}

/// What to call. One row that is not JSON must not keep back the others: it counts as nothing.
fn readable(row: &Row) -> Json {
    row.get("data").unwrap_or_else(|_| Json::null())
}

pub(crate) fn callback(row: &Row) -> Result<Callback, Error> {
    Ok(Callback {
        id: row.get("id")?,
        callback_type: row.get("type")?,
        fetch_method: row.get("fetch_method")?,
        data: row.get("data")?,
        bundle_name: row.optional("bundle_name")?,
        state: row.parsed("state")?,
        output: row.optional("output")?,
        priority_weight: row.get("priority_weight")?,
        created_at: row.get("created_at")?,
        trigger_id: row.optional("trigger_id")?,
    })
}
