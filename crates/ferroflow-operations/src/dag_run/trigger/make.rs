//! A run that was asked for is made, if it may be.

use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{Db, ScopedFutureExt as _, Tx, dag_run};
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_telemetry::metrics::{RunTags, runs};
use ferroflow_telemetry::{chain, clock};
use jiff::Timestamp;

use super::{RequestedRun, checks};
use crate::OperationError;
use crate::dag::StoredDag;
use crate::dag_run::create::{
    self, CreatedRun, DagVersionRef, NewRun, OfRun, PlannedDeadlines, PlannedRun, plan_deadlines,
};
use crate::dag_run::{RunMaking, check_params};
use crate::secrets::Secrets;

/// On whose behalf a run is made, and through which door the request came.
pub(super) struct RunSource {
    pub(super) run_type: RunType,
    pub(super) triggered_by: TriggeredBy,
    pub(super) user: Option<String>,
}

/// Makes a run that waits to be started, if it may be made.
pub(super) async fn make(
    secrets: &Secrets,
    making: &RunMaking,
    stored: &StoredDag,
    asked: &RequestedRun,
    source: RunSource,
) -> Result<(), OperationError> {
    let now = clock::now();
    let run_after = asked.run_after.unwrap_or(now);
    checks::logical_date(&stored.dag, asked.logical_date)?;
    let data_interval = match asked.logical_date {
        Some(_) => Some(making.manual_interval(stored, run_after).await?),
        None => None,
    };
    let partition_date = making.partition_date(stored, asked.partition_key.as_deref()).await?;
    making.check_run_id(&asked.run_id)?;
    checks::partition_key(&stored.row, &stored.dag, asked.partition_key.as_deref())?;
    check_params(&stored.dag.params, &asked.conf)
        .map_err(|bad| OperationError::value_error(bad.to_string()))?;
    let is_tied = !stored.dag.disable_bundle_versioning;
    let run = NewRun {
        dag_id: asked.dag_id.clone(),
        run_id: asked.run_id.clone(),
        run_type: source.run_type,
        logical_date: asked.logical_date,
        data_interval,
        run_after,
        state: RunState::Queued,
        start_date: None,
        conf: Some(asked.conf.clone()),
        triggered_by: source.triggered_by,
        triggering_user_name: source.user,
        note: asked.note.clone(),
        partition_key: asked.partition_key.clone(),
        partition_date,
        backfill_id: None,
        creating_job_id: None,
        bundle_version: stored.row.bundle_version.clone().filter(|_| is_tied),
        unixname: making.unixname.clone(),
    };
    let mut planned = PlannedRun::new(&stored.dag, &DagVersionRef { id: stored.version }, &run, now);
    let shaped = planned.apply_mutation_hook(making.rules.as_deref(), &stored.dag).await;
    shaped.map_err(|error| OperationError::value_error(chain(&error)))?;
    let mut deadlines = deadlines(secrets, stored).await?;
    deadlines.ask(making.timetables.as_deref(), &planned).await;
    create(&secrets.db, &run, &Parts { planned, deadlines, bundle_name: &stored.row.bundle_name }, now).await
}

/// What is written of a run.
struct Parts<'a> {
    planned: PlannedRun,
    deadlines: PlannedDeadlines,
    bundle_name: &'a str,
}

impl Parts<'_> {
    async fn write(
        &self,
        tx: &mut Tx,
        run: &NewRun,
        now: Timestamp,
    ) -> Result<(CreatedRun, (usize, Vec<String>)), create::Error> {
        let made = create::create_planned(tx, &self.planned, now).await?;
        let of_run = OfRun {
            id: made.id,
            dag_id: &run.dag_id,
            bundle_name: self.bundle_name,
            logical_date: run.logical_date,
        };
        Ok((made, self.deadlines.add(tx, &of_run, now).await?))
    }
}

async fn create(db: &Db, run: &NewRun, parts: &Parts<'_>, now: Timestamp) -> Result<(), OperationError> {
    let created = db.transact(|tx| {
        async move {
            notifications::notify(tx, Notification::QueuedOf { dag_id: run.dag_id.clone() }).await?;
            match parts.write(tx, run, now).await {
                Err(create::Error::Db(error)) => Err(error),
                other => Ok(other),
            }
        }
        .scope_boxed()
    });
    let error = match created.await {
        Ok(Ok((made, (deadlines, problems)))) => {
            let tags = RunTags { dag_id: &run.dag_id, run_type: run.run_type.as_str() };
            runs::instances_created(tags, &made.operators);
            for problem in problems {
                tracing::warn!(dag_id = run.dag_id, run_id = run.run_id, problem, "a run lacks a deadline");
            }
            if deadlines > 0 {
                runs::deadlines_created(&run.dag_id, deadlines);
            }
            return Ok(());
        }
        Ok(Err(create::Error::RunExists { run_id, .. })) => return Err(exists(&run.dag_id, &run_id)),
        Ok(Err(create::Error::Db(error))) | Err(error) => error,
    };
    // Somebody else may have made it in the meantime.
    if error.is_about_data() {
        let (dag_id, run_id, date) = (run.dag_id.as_str(), run.run_id.as_str(), run.logical_date);
        let there =
            db.read(|tx| async move { dag_run::find_either(tx, dag_id, run_id, date).await }.scope_boxed());
        if let Some(there) = there.await? {
            return Err(exists(dag_id, &there));
        }
    }
    Err(error.into())
}

/// The deadlines that a run of a DAG gets.
pub(crate) async fn deadlines(
    secrets: &Secrets,
    stored: &StoredDag,
) -> Result<PlannedDeadlines, OperationError> {
    if stored.dag.deadlines.is_empty() {
        return Ok(PlannedDeadlines::default());
    }
    let mut planned = plan_deadlines(&secrets.db, &[stored.version]).await?;
    let mut planned = planned.remove(&stored.version).unwrap_or_default();
    planned.look_up(secrets).await;
    Ok(planned)
}

pub(super) fn exists(dag_id: &str, run_id: &str) -> OperationError {
    let message = format!("A run already exists for Dag '{dag_id}' with run_id '{run_id}'");
    OperationError::conflict("already_exists", message)
}
