//! A task instance tells what became of it.

use ferroflow_db::task_instance::execution::{End, Facts};
use ferroflow_db::{Error, ScopedFutureExt as _, Tx, hitl_detail, task_instance};
use ferroflow_model::id;
use ferroflow_model::state::TaskState;
use ferroflow_operations::asset::Mappings;
use ferroflow_telemetry::clock;
use ferroflow_telemetry::metrics::runs;
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::attempt::{Attempt, not_found, note_event, until_done};
use super::fail_fast::stop_the_rest;
use super::outlets::{NoOutlets, Outlets};
use super::waiting::{await_input, defer, reschedule};
use crate::api::{Ended, Retry, StateUpdate, Success};
use crate::{Refusal, Service};

/// What came of a state that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateSet {
    /// It was written.
    Changed,
    /// It was there already.
    AlreadyThere,
}

/// What a transaction has written, and what is to be told of it once it is committed.
struct Written {
    set: StateSet,
    /// How many changes of assets there were,
    asset_updates: usize,
    /// and whose, if there are teams.
    team_name: Option<String>,
}

impl From<StateSet> for Written {
    fn from(set: StateSet) -> Self {
        Self { set, asset_updates: 0, team_name: None }
    }
}

/// How many characters of a reason are kept.
const REASON_LENGTH: usize = 500;

/// So often what a task tells is written anew after something has gone to which it refers.
const REFERENCES_READ_AGAIN: usize = 5;

impl Service {
    /// A running task instance tells what became of it. Telling the same again is no error.
    pub async fn set_state(&self, id: Uuid, update: &StateUpdate) -> Result<StateSet, Refusal> {
        self.set_state_if(id, update, None, &Mappings::default()).await
    }

    /// The same, told by a process on a host. If the instance runs again by now, in another process, it is refused. What
    /// Python says of partitions is kept for the next time.
    pub async fn set_state_of_process(
        &self,
        id: Uuid,
        update: &StateUpdate,
        process: (&str, i32),
        mappings: &Mappings,
    ) -> Result<StateSet, Refusal> {
        self.set_state_if(id, update, Some(process), mappings).await
    }

    async fn set_state_if(
        &self,
        id: Uuid,
        update: &StateUpdate,
        process: Option<(&str, i32)>,
        mappings: &Mappings,
    ) -> Result<StateSet, Refusal> {
        let mut attempts = 0;
        let told = until_done("task_instance/finish", || {
            attempts += 1;
            let may_be_read_again = attempts <= REFERENCES_READ_AGAIN;
            Box::pin(async move {
                let now = clock::now();
                match self
                    .db
                    .transact(|tx| self.tell(tx, (id, process), update, mappings, now).scope_boxed())
                    .await
                {
                    Err(Error::Unasked(_)) => {
                        mappings.ask(self.timetables.as_deref()).await;
                        Ok(Attempt::Raced)
                    }
                    // What it refers to was there when it was looked for: a DAG that waits for the assets, say.
                    Err(error) if error.is_about_reference() && may_be_read_again => Ok(Attempt::Raced),
                    Err(error) if error.is_about_data() => Err(rejected(&error)),
                    // What cannot be written at all is a failure, as in Airflow: nobody could ever tell it. (A row that
                    // cannot be read is none: it may be mended.)
                    Err(error @ Error::Query { .. }) if !error.may_pass() => {
                        tracing::error!(%id, %error, "what became of a task instance cannot be written; it fails");
                        Ok(self.db.transact(|tx| self.fail_instead(tx, id, now).scope_boxed()).await?)
                    }
                    outcome => Ok(outcome?),
                }
            })
        });
        let Written { set, asset_updates, team_name } = told.await?;
        if asset_updates > 0 {
            runs::assets_updated(asset_updates, team_name.as_deref());
        }
        Ok(set)
    }

    async fn tell(
        &self,
        tx: &mut Tx,
        (id, process): (Uuid, Option<(&str, i32)>),
        update: &StateUpdate,
        mappings: &Mappings,
        now: Timestamp,
    ) -> Result<Attempt<Written>, Error> {
        let Some(facts) = task_instance::execution::facts(tx, id).await? else {
            return Ok(Attempt::Refused(not_found()));
        };
        if facts.state == Some(update.state()) {
            return Ok(Attempt::Done(StateSet::AlreadyThere.into()));
        }
        if let Some(refusal) = why_not(&facts, process) {
            return Ok(Attempt::Refused(refusal));
        }
        let team_name = facts.team_name.as_deref().filter(|_| self.rules.multi_team);
        let mut asset_updates = 0;
        let written = match update {
            StateUpdate::Success(success) => match Outlets::of(success) {
                Ok(outlets) => {
                    let outlets = (&outlets, mappings);
                    let changes = self.succeed(tx, id, &facts, success, outlets, now).await?;
                    asset_updates = changes.unwrap_or(0);
                    changes.map(|_| TaskState::Success)
                }
                Err(NoOutlets::PartitionKey(message)) => {
                    return Ok(Attempt::Refused(Refusal::api(422, "invalid_partition_key", message)));
                }
                Err(NoOutlets::Unreadable(problem)) => {
                    tracing::error!(%id, "what a task says of its outlets cannot be read; it fails: {problem}");
                    fail(tx, id, &facts, now).await?
                }
            },
            StateUpdate::Failed(ended) => {
                let written = end(tx, id, &facts, TaskState::Failed, ended, now).await?;
                if written.is_some() {
                    stop_the_rest(tx, &facts, now).await?;
                }
                written
            }
            StateUpdate::Skipped(ended)
            | StateUpdate::Removed(ended)
            | StateUpdate::UpstreamFailed(ended) => end(tx, id, &facts, update.state(), ended, now).await?,
            StateUpdate::UpForRetry(retry) => try_again(tx, id, &facts, retry, now).await?,
            StateUpdate::Deferred(deferral) => defer(tx, id, deferral, team_name, now).await?,
            StateUpdate::UpForReschedule(wish) => reschedule(tx, id, &facts, wish, now).await?,
            StateUpdate::AwaitingInput(wait) => await_input(tx, id, wait, now).await?,
            StateUpdate::Scheduled | StateUpdate::Queued | StateUpdate::Restarting => {
                fail(tx, id, &facts, now).await?
            }
        };
        let Some(state) = written else { return Ok(Attempt::Raced) };
        note_event(tx, &facts, state.as_str(), facts.hostname.as_deref(), now).await?;
        let team_name = team_name.map(str::to_owned);
        Ok(Attempt::Done(Written { set: StateSet::Changed, asset_updates, team_name }))
    }

    /// Says how many changes of assets come with it.
    async fn succeed(
        &self,
        tx: &mut Tx,
        id: Uuid,
        facts: &Facts,
        success: &Success,
        (outlets, mappings): (&Outlets, &Mappings),
        now: Timestamp,
    ) -> Result<Option<usize>, Error> {
        let states = (TaskState::Running, TaskState::Success);
        let ended = End::of(facts.start_date, success.end_date);
        let name = success.rendered_map_index.as_deref();
        if !task_instance::execution::finish(tx, id, states, ended, name, now).await? {
            return Ok(None);
        }
        let changes = outlets.register(tx, (&self.rules.of_events(), mappings), facts, now).await?;
        if self.rules.clear_state_on_success {
            task_instance::state_store::clear(tx, &facts.key).await?;
        }
        Ok(Some(changes))
    }

    async fn fail_instead(&self, tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<Attempt<Written>, Error> {
        let Some(facts) = task_instance::execution::facts(tx, id).await? else {
            return Ok(Attempt::Refused(not_found()));
        };
        let Some(state) = fail(tx, id, &facts, now).await? else { return Ok(Attempt::Raced) };
        note_event(tx, &facts, state.as_str(), facts.hostname.as_deref(), now).await?;
        Ok(Attempt::Done(StateSet::Changed.into()))
    }
}

/// Why a state is not taken: the instance does not run, or runs in another process than the one that tells.
fn why_not(facts: &Facts, process: Option<(&str, i32)>) -> Option<Refusal> {
    let is_elsewhere =
        process.is_some_and(|(host, pid)| facts.hostname.as_deref() != Some(host) || facts.pid != Some(pid));
    let message = if facts.state != Some(TaskState::Running) {
        "TI was not in the running state so it cannot be updated"
    } else if is_elsewhere {
        "TI is already running elsewhere"
    } else {
        return None;
    };
    Some(Refusal::invalid_state(message, facts.state))
}

async fn end(
    tx: &mut Tx,
    id: Uuid,
    facts: &Facts,
    state: TaskState,
    ended: &Ended,
    now: Timestamp,
) -> Result<Option<TaskState>, Error> {
    let states = (TaskState::Running, state);
    let name = ended.rendered_map_index.as_deref();
    let is_written = task_instance::execution::finish(
        tx,
        id,
        states,
        End::of(facts.start_date, ended.end_date),
        name,
        now,
    )
    .await?;
    Ok(is_written.then_some(state))
}

/// It fails, whatever it says.
pub(super) async fn fail(
    tx: &mut Tx,
    id: Uuid,
    facts: &Facts,
    now: Timestamp,
) -> Result<Option<TaskState>, Error> {
    if !task_instance::execution::fail(tx, id, TaskState::Running, End::of(facts.start_date, now), now)
        .await?
    {
        return Ok(None);
    }
    stop_the_rest(tx, facts, now).await?;
    Ok(Some(TaskState::Failed))
}

async fn try_again(
    tx: &mut Tx,
    id: Uuid,
    facts: &Facts,
    retry: &Retry,
    now: Timestamp,
) -> Result<Option<TaskState>, Error> {
    let ended = End::of(facts.start_date, retry.end_date);
    let reason = retry.retry_reason.as_deref().filter(|reason| !reason.is_empty());
    let reason: Option<String> = reason.map(|reason| reason.chars().take(REASON_LENGTH).collect());
    let policy = (retry.retry_delay_seconds, reason.as_deref());
    let name = retry.rendered_map_index.as_deref();
    if !task_instance::execution::retry(tx, id, TaskState::Running, ended, name, policy, now).await? {
        return Ok(None);
    }
    archive(tx, id, now).await?;
    Ok(Some(TaskState::UpForRetry))
}

/// Moves a try that is to be followed by another into the history, and gives that one an id of its own.
pub(super) async fn archive(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<(), Error> {
    if task_instance::history::archive(tx, id).await? {
        hitl_detail::answer::archive(tx, id).await?;
    }
    task_instance::reschedule::delete(tx, id).await?;
    task_instance::execution::renew(tx, id, id::new_v7(now, rand::random()), now).await?;
    Ok(())
}

/// That the database does not take a value.
fn rejected(error: &Error) -> Refusal {
    tracing::warn!(%error, "the database does not take what a task instance says");
    Refusal::Api {
        status: 422,
        detail: json!({
            "reason": "Value rejected by database",
            "statement": "hidden",
            "orig_error": "hidden",
            "message": error.to_string(),
        }),
    }
}
