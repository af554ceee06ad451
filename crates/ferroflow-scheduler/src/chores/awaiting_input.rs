//! Task instances that wait for a human's answer, and have for too long.
//!
//! Locks: their rows in `task_instance`, without waiting for those that another transaction has; then their questions, in the
//! order in which an answer takes them.

use ferroflow_db::hitl_detail::answer::Answer;
use ferroflow_db::hitl_detail::{self, Question};
use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_db::task_instance::execution::Continuation;
use ferroflow_db::task_instance::overdue::{self, Overdue};
use ferroflow_db::{Error as DbError, Json, Page, ScopedFutureExt as _, Tx};
use ferroflow_execution::task_instance::answer_event;
use ferroflow_model::outcome::unanswered::{Asked, Unanswered, nobody, unanswered, with_event};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::deferred::FAIL;
use super::report::{FollowUp, Report};
use super::{Chore, reported};
use crate::refused::{SetAside, or_set_aside, so_far};
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "task instances whose question was not answered in time",
    every: |settings| Some(settings.scheduler.trigger_timeout_check_interval),
    run: |given| reported(awaiting_input(given.cx, given.now)),
};

/// How many are dealt with in one transaction: humans who answer others must not wait long.
const BATCH: u32 = 100;

/// What became of those that were not answered in time. All of them are scheduled now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwaitingInput {
    /// Those that go on: with an answer after all, or with their defaults.
    pub answered: Vec<TaskInstanceKey>,
    /// Those that are told that there was no answer.
    pub unanswered: Vec<TaskInstanceKey>,
    /// Those that cannot go on, and why: they fail.
    pub refused: Vec<(TaskInstanceKey, String)>,
    /// Those that wait on.
    pub set_aside: Vec<SetAside>,
}

impl Report for AwaitingInput {
    fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    fn follow_up(&self) -> FollowUp {
        let changed = self.answered.iter().chain(&self.unanswered).cloned().collect();
        FollowUp { changed, rescan: true, ..FollowUp::default() }
    }
}

/// Lets those go on that waited for a human for too long.
pub async fn awaiting_input(cx: &Context, now: Timestamp) -> Result<AwaitingInput, Error> {
    let mut report = AwaitingInput::default();
    let mut after = Uuid::nil();
    loop {
        cx.progress.gets_on();
        let some = cx.db.transact_in_parts(|tx| settle(tx, after, now).scope_boxed()).await;
        let (some, next) = match some {
            Ok(some) => some,
            Err(error) => return so_far(report, error.into()),
        };
        report.answered.extend(some.answered);
        report.unanswered.extend(some.unanswered);
        report.refused.extend(some.refused);
        report.set_aside.extend(some.set_aside);
        let Some(next) = next else { return Ok(report) };
        after = next;
    }
}

async fn settle(tx: &mut Tx, after: Uuid, now: Timestamp) -> Result<(AwaitingInput, Option<Uuid>), DbError> {
    let mut report = AwaitingInput::default();
    let Page { found, next } = overdue::lock_waiting(tx, TaskState::AwaitingInput, now, after, BATCH).await?;
    for one in found {
        tx.begin_part().await?;
        let settled = settle_one(tx, &one, now).await;
        let settled = tx.end_part(settled).await?;
        let row = |reason| SetAside::instance(&one.key, reason);
        match or_set_aside(settled, tx.unreadable(), row, &mut report.set_aside) {
            Some(Settled::Answered) => report.answered.push(one.key),
            Some(Settled::Unanswered) => report.unanswered.push(one.key),
            Some(Settled::Refused(problem)) => report.refused.push((one.key, problem)),
            Some(Settled::Unreadable) | None => {}
        }
    }
    Ok((report, next))
}

enum Settled {
    Answered,
    Unanswered,
    Refused(String),
    Unreadable,
}

async fn settle_one(tx: &mut Tx, one: &Overdue, now: Timestamp) -> Result<Settled, DbError> {
    let event = event(tx, one, now).await;
    // What cannot be read waits until it is mended, and is told of.
    let Some((event, is_answered)) = tx.unreadable().or_note(event)? else { return Ok(Settled::Unreadable) };
    match with_event(one.next_kwargs.as_ref(), event) {
        Ok(kwargs) => {
            let method = one.next_method.as_deref().unwrap_or(FAIL);
            go_on(tx, one, Continuation { method, kwargs: &kwargs }, now).await?;
            Ok(if is_answered { Settled::Answered } else { Settled::Unanswered })
        }
        Err(problem) => {
            let kwargs = Json::from(json!({"error": problem.to_string(), "traceback": []}));
            go_on(tx, one, Continuation { method: FAIL, kwargs: &kwargs }, now).await?;
            Ok(Settled::Refused(problem.to_string()))
        }
    }
}

/// What one is told, and whether that is an answer.
async fn event(tx: &mut Tx, one: &Overdue, now: Timestamp) -> Result<(Value, bool), DbError> {
    let question = hitl_detail::find(tx, one.id).await?;
    Ok(match unanswered(question.as_ref().and_then(asked).as_ref()) {
        Unanswered::Answered => (given_answer(tx, one).await?, true),
        Unanswered::ByDefault { chosen_options, params_input } => {
            (answer_by_default(tx, one, chosen_options, params_input, now).await?, true)
        }
        Unanswered::Nobody => (nobody(), false),
    })
}

fn asked(question: &Question) -> Option<Asked> {
    let defaults = question.defaults.as_ref().map(Json::value).transpose().ok()?;
    let params = question.params.value().ok()?;
    Some(Asked { is_answered: question.responded_at.is_some(), defaults, params })
}

async fn given_answer(tx: &mut Tx, one: &Overdue) -> Result<Value, DbError> {
    let answer = hitl_detail::answer::find(tx, one.id).await?;
    Ok(answer.map_or_else(nobody, |answer| answer_event(&answer, false)))
}

async fn answer_by_default(
    tx: &mut Tx,
    one: &Overdue,
    chosen_options: Value,
    params_input: Value,
    now: Timestamp,
) -> Result<Value, DbError> {
    let (options, input) = (Json::from(chosen_options.clone()), Json::from(params_input.clone()));
    if hitl_detail::answer::answer_by_default(tx, one.id, &options, &input, now).await? {
        let answer = Answer { responded_at: now, responded_by: Value::Null, chosen_options, params_input };
        return Ok(answer_event(&answer, true));
    }
    // A human was faster.
    given_answer(tx, one).await
}

async fn go_on(
    tx: &mut Tx,
    one: &Overdue,
    continuation: Continuation<'_>,
    now: Timestamp,
) -> Result<(), DbError> {
    overdue::resume_timed_out(tx, &[one.id], TaskState::AwaitingInput, continuation, now).await?;
    Ok(())
}
