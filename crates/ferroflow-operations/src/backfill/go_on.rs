//! The rest of a backfill is made, by whoever began or by somebody who takes over from there.

use std::collections::HashMap;
use std::time::Duration;

use ferroflow_db::backfill::create_runs::{Request, UndecidedDate};
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, backfill, dag};
use ferroflow_model::backfill::Stretch;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use serde_json::Value;

use super::BackfillRequest;
use super::make::{MadeBackfill, Written};
use super::step::{MAX_DATES, Step, Work};
use crate::OperationError;
use crate::dag::StoredDag;
use crate::dag_run::RunMaking;
use crate::secrets::Secrets;

/// A maker that was not heard of for so long is gone.
const SILENCE: Duration = Duration::from_secs(30);

/// Backfills whose makers were heard of last before this time have none any more.
pub fn abandoned_before(now: Timestamp) -> Timestamp {
    now.checked_sub(SILENCE).unwrap_or(Timestamp::MIN)
}

/// Completes a backfill whose maker is gone. Runs that begin anew do so with the version of the DAG that this and the
/// configuration say: what its maker was told besides stands nowhere.
pub async fn finish(secrets: &Secrets, making: &RunMaking, id: i64) -> Result<MadeBackfill, OperationError> {
    let read =
        secrets.db.read(|tx| async move { backfill::create_runs::request(tx, id).await }.scope_boxed());
    let (request, user) = asked(read.await?.ok_or_else(|| over(id))?)?;
    let stored = stored(&secrets.db, &request.dag_id).await?;
    let kind = making.kind(&stored).await?;
    let dates = making.dates(&stored, kind, &request.stretch, clock::now()).await?;
    let work = Work::new((secrets, making), &stored, (&request, user), &dates).await?;
    let mut made = MadeBackfill { id, ..MadeBackfill::default() };
    go_on(&work, &mut made, &|_, _| ()).await?;
    Ok(made)
}

async fn stored(db: &Db, dag_id: &str) -> Result<StoredDag, OperationError> {
    let read = db.read(|tx| {
        async move { Ok((dag::find(tx, dag_id).await?, serialized_dag::latest(tx, dag_id).await?)) }
            .scope_boxed()
    });
    let (row, serialized) = read.await?;
    let row = row.ok_or_else(|| OperationError::not_found(format!("could not find Dag {dag_id}")))?;
    StoredDag::of(row, serialized)
}

/// What was asked for, and by whom.
fn asked(request: Request) -> Result<(BackfillRequest, Option<String>), OperationError> {
    let conf = request.conf.map(|conf| conf.value()).transpose().map_err(|error| OperationError::Stored {
        what: format!("the configuration of a backfill of Dag {}", request.dag_id),
        help: "",
        source: error.into(),
    })?;
    let conf = match conf {
        Some(Value::Object(conf)) => Some(conf),
        _ => None,
    };
    let asked = BackfillRequest {
        dag_id: request.dag_id,
        stretch: Stretch {
            from: request.from,
            to: request.to,
            // The dates have their order already.
            is_backwards: false,
            reprocess: request.reprocess,
        },
        conf,
        max_active_runs: Some(request.max_active_runs),
        run_on_latest_version: None,
    };
    Ok((asked, request.triggering_user_name))
}

fn over(id: i64) -> OperationError {
    let message = format!("backfill {id} was cancelled while it was made: what was made of it has failed");
    OperationError::conflict("cancelled", message)
}

/// Makes what is left of a backfill.
pub(super) async fn go_on(
    work: &Work<'_>,
    made: &mut MadeBackfill,
    tell: &(dyn Fn(usize, usize) + Send + Sync),
) -> Result<(), OperationError> {
    let (db, id, total) = (&work.secrets.db, made.id, work.dates.runs.len());
    let undecided =
        db.read(|tx| async move { backfill::create_runs::undecided(tx, id).await }.scope_boxed()).await?;
    let places = work.dates.places();
    let mut left = undecided.as_slice();
    while !left.is_empty() {
        let some = &left[..left.len().min(MAX_DATES)];
        let part = Part::of(work, id, some, &places).await?;
        left = &left[part.dates.len()..];
        carry_out(work, part, left.is_empty(), made).await?;
        tell(total.saturating_sub(left.len()), total);
    }
    if was_cancelled_at_last(db, id).await? { Err(over(id)) } else { Ok(()) }
}

/// Whoever cancels a backfill fails the runs that wait, and only then notes that it is over, for which the last step may have
/// kept it waiting. The runs of that step fail here: a backfill of which all runs have ended has none that wait.
async fn was_cancelled_at_last(db: &Db, id: i64) -> Result<bool, OperationError> {
    let now = clock::now();
    let failed = db.transact(|tx| {
        async move {
            if backfill::create_runs::lock(tx, id).await? {
                return Ok(0);
            }
            backfill::create_runs::fail_queued(tx, id, now).await
        }
        .scope_boxed()
    });
    Ok(failed.await? > 0)
}

/// Some dates of a backfill that is being made.
struct Part<'a> {
    id: i64,
    dates: &'a [UndecidedDate],
    /// The rows in `backfill_dag_run` of those that the schedule has, by place.
    rows: HashMap<usize, i64>,
    step: Step,
}

impl<'a> Part<'a> {
    /// As many of these dates as make a step.
    async fn of(
        work: &Work<'_>,
        id: i64,
        dates: &'a [UndecidedDate],
        places: &HashMap<(Option<Timestamp>, Option<&str>), usize>,
    ) -> Result<Self, OperationError> {
        let place = |date: &UndecidedDate| {
            let place = places.get(&(date.logical_date, date.partition_key.as_deref()))?;
            Some((*place, date.id))
        };
        let of_schedule: Vec<(usize, i64)> = dates.iter().filter_map(place).collect();
        let wanted: Vec<usize> = of_schedule.iter().map(|(place, _)| *place).collect();
        let bounds = work.dates.bounds_of(&wanted);
        let there = work.dates.there(&work.secrets.db, &work.request.dag_id, bounds).await?;
        let step = work.plan(&wanted, &there).await?;
        let taken = match of_schedule.get(step.places.len()) {
            Some((_, first_left)) => dates.iter().take_while(|date| date.id != *first_left).count(),
            None => dates.len(),
        };
        Ok(Self { id, dates: &dates[..taken], rows: of_schedule.into_iter().collect(), step })
    }

    /// Those that the schedule does not have any more.
    fn vanished(&self) -> impl Iterator<Item = &UndecidedDate> {
        self.dates.iter().filter(|date| !self.rows.values().any(|row| *row == date.id))
    }
}

async fn carry_out(
    work: &Work<'_>,
    part: Part<'_>,
    is_last: bool,
    made: &mut MadeBackfill,
) -> Result<(), OperationError> {
    let (part, before, now) = (&part, *made, clock::now());
    let id = part.id;
    // Whoever waits for the row of the DAG lives.
    work.secrets
        .db
        .transact(|tx| async move { backfill::create_runs::touch(tx, id, now).await }.scope_boxed())
        .await?;
    let written = work
        .secrets
        .db
        .transact(|tx| async move { write(tx, work, part, is_last, before, now).await }.scope_boxed());
    let Some((after, written)) = written.await? else { return Err(over(part.id)) };
    written.tell(&work.request.dag_id);
    for UndecidedDate { logical_date, partition_key, .. } in part.vanished() {
        tracing::warn!(
            dag_id = work.request.dag_id,
            backfill_id = part.id,
            ?logical_date,
            partition_key,
            "a date of a backfill gets no run: the schedule of the DAG does not have it any more"
        );
    }
    *made = after;
    Ok(())
}

/// Writes a part, unless the backfill is over: somebody has cancelled it.
async fn write(
    tx: &mut Tx,
    work: &Work<'_>,
    part: &Part<'_>,
    is_last: bool,
    mut made: MadeBackfill,
    now: Timestamp,
) -> Result<Option<(MadeBackfill, Written)>, Error> {
    // As for the first step: schedulers that make runs of the DAG wait.
    dag::lock(tx, std::slice::from_ref(&work.request.dag_id)).await?;
    if !backfill::create_runs::lock(tx, part.id).await? {
        // Whoever cancelled it did not know of those that came into being meanwhile.
        backfill::create_runs::fail_queued(tx, part.id, now).await?;
        return Ok(None);
    }
    let ids: Vec<i64> = part.dates.iter().map(|date| date.id).collect();
    let undecided = backfill::create_runs::still_undecided(tx, &ids).await?;
    let mut decided = work.decide(tx, &part.step).await?;
    decided.retain(|(place, _)| part.rows.get(place).is_some_and(|row| undecided.contains(row)));
    let mut written = Written::default();
    let outcomes = work.write(tx, &decided, (&mut made, &mut written), now).await?;
    for ((place, _), outcome) in decided.iter().zip(outcomes) {
        if let Some(row) = part.rows.get(place) {
            backfill::create_runs::decide(tx, *row, outcome.dag_run_id, outcome.skipped).await?;
        }
    }
    for date in part.vanished() {
        backfill::create_runs::drop_date(tx, date.id).await?;
    }
    backfill::create_runs::touch(tx, part.id, now).await?;
    if is_last {
        backfill::create_runs::unpause(tx, part.id, now).await?;
        notifications::notify(tx, Notification::QueuedOf { dag_id: work.request.dag_id.clone() }).await?;
    }
    Ok(Some((made, written)))
}
