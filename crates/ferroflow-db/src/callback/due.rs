//! `callback`: those of triggerers and executors, from when they are due.

use std::fmt;

use ferroflow_model::state::CallbackState;
use jiff::Timestamp;
use uuid::Uuid;

use crate::callback::Callback;
use crate::callback::row::callback;
use crate::statement::{Row, binds, sql};
use crate::{Error, Json, Tx};

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
pub async fn set_state(tx: &mut Tx, id: Uuid, from: Option<CallbackState>, to: &Move) -> Result<bool, Error> {
    let from = from.map(CallbackState::as_str);
    let binds =
        binds![to.state.as_str(), to.data.clone(), to.trigger_id, to.output.as_deref(), id, from, from,];
    Ok(tx.execute(sql!("callback/set_state"), binds).await? == 1)
}

/// Locks callbacks that wait for an executor, the weightiest first.
pub async fn lock_pending(tx: &mut Tx, limit: u32) -> Result<Vec<Callback>, Error> {
    tx.first_readable(sql!("callback/lock_pending"), Vec::new(), limit, callback).await
}

/// Whose executor has a callback. Airflow has no column for it: until the callback has ended, it stands where its output
/// will.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The job of the scheduler.
    pub job_id: i64,
    /// What runs it, once there is something.
    pub process: Option<HolderProcess>,
}

/// The process that runs a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderProcess {
    /// Its number, which may be another's later on.
    pub pid: i32,
    /// Its host.
    pub hostname: String,
    /// When it had that number. Rows of an older ferroflow do not tell.
    pub seen: Option<Timestamp>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ferroflow: with the executor of job {}", self.job_id)?;
        match &self.process {
            Some(HolderProcess { pid, hostname, seen: Some(seen) }) => {
                write!(f, ", as process {pid} on {hostname} since {seen}")
            }
            Some(HolderProcess { pid, hostname, seen: None }) => {
                write!(f, ", as process {pid} on {hostname}")
            }
            None => Ok(()),
        }
    }
}

impl Holder {
    /// What [`Display`](fmt::Display) wrote.
    fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix("ferroflow: with the executor of job ")?;
        let (job_id, process) = match text.split_once(", as process ") {
            Some((job_id, process)) => (job_id, Some(HolderProcess::read(process)?)),
            None => (text, None),
        };
        Some(Self { job_id: job_id.parse().ok()?, process })
    }
}

impl HolderProcess {
    fn read(text: &str) -> Option<Self> {
        let (pid, place) = text.split_once(" on ")?;
        let since =
            place.rsplit_once(" since ").and_then(|(hostname, seen)| Some((hostname, seen.parse().ok()?)));
        let (hostname, seen) = since.map_or((place, None), |(hostname, seen)| (hostname, Some(seen)));
        Some(Self { pid: pid.parse().ok()?, hostname: hostname.to_owned(), seen })
    }
}

/// A callback that an executor has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedCallback {
    /// Its identity.
    pub id: Uuid,
    /// Queued or running.
    pub state: CallbackState,
    /// Whose executor.
    pub holder: Holder,
}

/// All callbacks that executors of our schedulers have, whether they live or not.
pub async fn queued_or_running(tx: &mut Tx) -> Result<Vec<QueuedCallback>, Error> {
    let mut found = Vec::new();
    let rows = tx.fetch_all(sql!("callback/queued_or_running"), Vec::new()).await?;
    found.extend(tx.readable(&rows, read_in_hand)?.into_iter().flatten());
    Ok(found)
}

fn read_in_hand(row: &Row) -> Result<Option<QueuedCallback>, Error> {
    let (id, output): (Uuid, String) = (row.get("id")?, row.get("output")?);
    let state: Option<CallbackState> = row.parsed("state")?;
    let (Some(state), Some(holder)) = (state, Holder::read(&output)) else { return Ok(None) };
    Ok(Some(QueuedCallback { id, state, holder }))
}

/// Moves a callback on that an executor has. False if it has left the state in which it was seen, or that executor.
pub async fn end(
    tx: &mut Tx,
    seen: &QueuedCallback,
    state: CallbackState,
    output: Option<&str>,
) -> Result<bool, Error> {
    let holder = seen.holder.to_string();
    let binds = binds![state.as_str(), output, seen.id, seen.state.as_str(), holder];
    Ok(tx.execute(sql!("callback/end"), binds).await? == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_read_as_it_is_written() {
        let seen = Timestamp::from_microsecond(1_767_225_600_000_001).unwrap();
        let begun = |hostname: &str, seen| {
            let process = HolderProcess { pid: 123, hostname: hostname.to_owned(), seen };
            Holder { job_id: 7, process: Some(process) }
        };
        let moon = "a host on the moon since 1969";
        for holder in [
            Holder { job_id: 7, process: None },
            begun(moon, Some(seen)),
            // As an older ferroflow wrote it.
            begun("host", None),
        ] {
            assert_eq!(Holder::read(&holder.to_string()), Some(holder));
        }
        for other in ["Execution failed", "ferroflow: with the executor of job x", ""] {
            assert_eq!(Holder::read(other), None);
        }
    }
}
