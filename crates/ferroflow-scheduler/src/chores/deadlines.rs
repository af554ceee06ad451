//! Deadlines that runs have missed.
//!
//! Locks: the rows in `deadline`, without waiting for those that another scheduler has.

use ferroflow_db::callback::due::{self, Move};
use ferroflow_db::callback::{self, Callback};
use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::deadline::missed::MissedDeadline;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Error as DbError, Json, Page, ScopedFutureExt as _, Tx, dag, deadline, trigger};
use ferroflow_execution::BesideRun;
use ferroflow_model::sdk_json;
use ferroflow_model::state::CallbackState;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::metrics::runs;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::deadline_context::{context, with_context};
use super::executor_callbacks;
use super::report::{FollowUp, Report};
use super::{Chore, EVERY_LOOP, reported};
use crate::metrics::Told;
use crate::refused::{SetAside, so_far};
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "missed deadlines",
    every: |_| Some(EVERY_LOOP),
    run: |given| reported(deadlines(given.cx, given.now)),
};

/// How many are dealt with in one transaction; with more, the chore goes on.
const BATCH: u32 = 100;

/// The class of the trigger that calls something.
const CALLBACK_TRIGGER: &str = "airflow.triggers.callback.CallbackTrigger";

/// What became of missed deadlines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deadlines {
    /// Those that were missed: the deadline, the DAG and the run.
    pub missed: Vec<(Uuid, String, String)>,
    /// Those whose callback cannot be called, and why; it has failed.
    pub refused: Vec<(Uuid, String)>,
    /// Whether a callback waits for an executor now.
    pub has_executor_callbacks: bool,
    /// Those that stay as they are.
    pub set_aside: Vec<SetAside>,
}

impl Report for Deadlines {
    fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    fn follow_up(&self) -> FollowUp {
        let hastens = self.has_executor_callbacks.then_some(executor_callbacks::CHORE.name);
        FollowUp { hastens: hastens.into_iter().collect(), ..FollowUp::default() }
    }

    fn measure(&self, _told: &mut Told) {
        self.missed.iter().for_each(|(_, dag_id, run_id)| runs::deadline_missed(dag_id, run_id));
    }
}

/// Hands over the callbacks of deadlines that have passed: to triggerers, or to executors.
pub async fn deadlines(cx: &Context, now: Timestamp) -> Result<Deadlines, Error> {
    let mut report = Deadlines::default();
    let mut skipped = 0;
    loop {
        cx.progress.gets_on();
        let some = cx.db.transact_in_parts(|tx| deal_with_some(tx, cx, skipped, now).scope_boxed()).await;
        let (some, next) = match some {
            Ok(some) => some,
            Err(error) => return so_far(report, error.into()),
        };
        for (deadline, reason) in &some.refused {
            tracing::error!(%deadline, reason, "callback of a missed deadline has failed");
        }
        report.missed.extend(some.missed);
        report.set_aside.extend(some.set_aside);
        report.refused.extend(some.refused);
        report.has_executor_callbacks |= some.has_executor_callbacks;
        let Some(next) = next else { return Ok(report) };
        skipped = next;
    }
}

async fn deal_with_some(
    tx: &mut Tx,
    cx: &Context,
    skipped: i64,
    now: Timestamp,
) -> Result<(Deadlines, Option<i64>), DbError> {
    let mut report = Deadlines::default();
    let Page { found, next } = deadline::missed::lock(tx, now, skipped, BATCH).await?;
    let mut kept_back = 0;
    for deadline in found {
        if cx.row_retries.has_to_wait(deadline.id, now, &mut report.set_aside) {
            kept_back += 1;
            continue;
        }
        match tell_or_fail(tx, cx, &deadline, now, &mut report.set_aside).await? {
            Some(Dealt::Told { run, to_executor }) => {
                report.has_executor_callbacks |= to_executor;
                report.missed.push((deadline.id, run.dag_id, run.run_id));
            }
            Some(Dealt::Untold(reason)) => report.refused.push((deadline.id, reason)),
            Some(Dealt::Gone) => {}
            None => kept_back += 1,
        }
    }
    Ok((report, next.map(|next| next + kept_back)))
}

enum Dealt {
    Told {
        run: Box<DagRun>,
        to_executor: bool,
    },
    Untold(String),
    /// Another scheduler was faster.
    Gone,
}

/// Hands over one. If the database refuses that, its callback has failed; nothing is answered if it refuses that, too, or
/// would not once an operator has mended rights, the schema, or a row that cannot be read.
async fn tell_or_fail(
    tx: &mut Tx,
    cx: &Context,
    deadline: &MissedDeadline,
    now: Timestamp,
    set_aside: &mut Vec<SetAside>,
) -> Result<Option<Dealt>, DbError> {
    tx.begin_part().await?;
    let dealt = deal_with(tx, cx, deadline, now).await;
    let mut dealt = tx.end_part(dealt).await?;
    if let Err(error) = &dealt
        && !error.is_busy()
        && !error.is_about_statement()
        && !matches!(error, DbError::Column(_))
    {
        let reason = format!("the database does not take it: {}", chain(error));
        tx.begin_part().await?;
        let failed = give_up(tx, deadline, &reason, now).await;
        dealt = tx.end_part(failed).await?;
    }
    let row = |reason| SetAside::row(format!("deadline {}", deadline.id), reason);
    Ok(cx.row_retries.or_retry_later(deadline.id, dealt, tx.unreadable(), row, set_aside, now))
}

async fn give_up(
    tx: &mut Tx,
    deadline: &MissedDeadline,
    reason: &str,
    now: Timestamp,
) -> Result<Dealt, DbError> {
    if !deadline::missed::set_missed(tx, deadline.id, now).await? {
        return Ok(Dealt::Gone);
    }
    match callback::find(tx, deadline.callback_id).await? {
        Some(callback) => fail(tx, &callback, reason).await,
        None => Ok(Dealt::Untold(reason.to_owned())),
    }
}

async fn deal_with(
    tx: &mut Tx,
    cx: &Context,
    deadline: &MissedDeadline,
    now: Timestamp,
) -> Result<Dealt, DbError> {
    if !deadline::missed::set_missed(tx, deadline.id, now).await? {
        return Ok(Dealt::Gone);
    }
    let Some(callback) = callback::find(tx, deadline.callback_id).await? else {
        return Ok(Dealt::Untold("its callback is gone".to_owned()));
    };
    let run = match deadline.dag_run_id {
        Some(id) => deadline::missed::run(tx, id).await?,
        None => None,
    };
    let Some(run) = run else { return fail(tx, &callback, "it is of no run").await };
    let data = match callback_data(tx, &callback, deadline, &run).await? {
        Ok(data) => data,
        Err(reason) => return fail(tx, &callback, &reason).await,
    };
    let (state, trigger_id) = match callback.callback_type.as_str() {
        "triggerer" => match trigger_arguments(&data) {
            Ok(kwargs) => {
                let id = add_trigger(tx, cx, &callback, &kwargs, now).await?;
                (CallbackState::Queued, Some(id))
            }
            Err(reason) => return fail(tx, &callback, &reason).await,
        },
        "executor" => (CallbackState::Pending, None),
        other => return fail(tx, &callback, &format!("nobody calls callbacks of type {other:?}")).await,
    };
    let moved = Move { state, data: Json::from(data), trigger_id, output: callback.output.clone() };
    due::set_state(tx, callback.id, callback.state, &moved).await?;
    Ok(Dealt::Told { run: Box::new(run), to_executor: state == CallbackState::Pending })
}

/// What is stored of the callback, with what it is told beside its own arguments.
async fn callback_data(
    tx: &mut Tx,
    callback: &Callback,
    deadline: &MissedDeadline,
    run: &DagRun,
) -> Result<Result<Value, String>, DbError> {
    let Ok(data) = callback.data.value() else { return Ok(Err("its callback is not JSON".to_owned())) };
    let dag = BesideRun {
        display_name: dag::find(tx, &run.dag_id).await?.and_then(|dag| dag.dag_display_name),
        note: dag_run::note::find(tx, run.id).await?,
        versions: deadline::missed::versions(tx, run).await?,
    };
    let mut more = vec![];
    if callback.callback_type == "executor" {
        more = vec![
            ("deadline_id", json!(deadline.id)),
            ("dag_run_id", json!(run.id.to_string())),
            ("dag_id", json!(run.dag_id)),
        ];
    }
    let context = context(run, &dag, deadline);
    Ok(with_context(data, context, more)
        .ok_or_else(|| "what is stored of its callback has no arguments".to_owned()))
}

/// What the trigger that calls it is given.
fn trigger_arguments(data: &Value) -> Result<Value, String> {
    let inside = &data["__var"];
    let kwargs = sdk_json::of_extended(&inside["kwargs"]).map_err(|other| other.to_string())?;
    Ok(json!({"callback_path": inside["path"], "callback_kwargs": kwargs}))
}

async fn add_trigger(
    tx: &mut Tx,
    cx: &Context,
    callback: &Callback,
    kwargs: &Value,
    now: Timestamp,
) -> Result<i64, DbError> {
    let team = match &callback.bundle_name {
        Some(bundle) if cx.settings.core.multi_team => trigger::team_of_bundle(tx, bundle).await?,
        _ => None,
    };
    let fernet: &Fernet = &cx.run_settings.fernet;
    let kwargs = Json::from(kwargs.clone()).into_text();
    trigger::insert_at_start(tx, fernet, CALLBACK_TRIGGER, &kwargs, team.as_deref(), now).await
}

async fn fail(tx: &mut Tx, callback: &Callback, reason: &str) -> Result<Dealt, DbError> {
    let moved = Move {
        state: CallbackState::Failed,
        data: callback.data.clone(),
        trigger_id: None,
        output: Some(reason.to_owned()),
    };
    due::set_state(tx, callback.id, callback.state, &moved).await?;
    Ok(Dealt::Untold(reason.to_owned()))
}
