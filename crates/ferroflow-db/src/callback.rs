//! `callback`: what is to be called, and by whom.

use ferroflow_model::state::CallbackState;
use jiff::Timestamp;
use uuid::Uuid;

use crate::Json;
use crate::bind::binds;
use crate::error::Error;
use crate::row::Row;
use crate::statement::sql;
use crate::tx::Tx;

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

fn callback(row: &Row) -> Result<Callback, Error> {
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
