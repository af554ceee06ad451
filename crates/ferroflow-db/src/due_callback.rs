//! `callback`: those of triggerers and executors, from when they are due.

use ferroflow_model::state::CallbackState;
use uuid::Uuid;

use crate::Json;
use crate::bind::binds;
use crate::callback::{Callback, callback};
use crate::error::Error;
use crate::statement::sql;
use crate::tx::Tx;

/// Where a callback goes, and what with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The new state.
    pub state: CallbackState,
    /// What to call, as it is stored.
    pub data: Json,
    /// The trigger that calls it.
    pub trigger_id: Option<i64>,
    /// How it failed.
    pub output: Option<String>,
}

/// Moves a callback on from the state in which it was seen. False if it has left that.
pub async fn move_on(tx: &mut Tx, id: Uuid, from: Option<CallbackState>, to: &Move) -> Result<bool, Error> {
    let from = from.map(CallbackState::as_str);
    let binds =
        binds![to.state.as_str(), to.data.clone(), to.trigger_id, to.output.as_deref(), id, from, from,];
    Ok(tx.execute(sql!("callback/move_on"), binds).await? == 1)
}

/// Locks callbacks that wait for an executor, the weightiest first.
pub async fn lock_pending(tx: &mut Tx, limit: u32) -> Result<Vec<Callback>, Error> {
    let rows = tx.fetch_all(sql!("callback/lock_pending"), binds![i64::from(limit)]).await?;
    rows.iter().map(callback).collect()
}
