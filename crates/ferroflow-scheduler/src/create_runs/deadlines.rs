//! By when something must have happened in a new run, and what is called if it has not.

use std::collections::HashMap;
use std::sync::Arc;

use ferroflow_db::callback::{self, Callback};
use ferroflow_db::new_deadline::{self, Alert};
use ferroflow_db::{Error as DbError, Json, ScopedFutureExt as _, Tx};
use ferroflow_model::dag::{
    CallbackPlace, DeadlineAlert, DeadlineCallback, DeadlineInterval, DeadlineReference,
};
use ferroflow_model::runs::deadlines::{RunFacts, deadline};
use ferroflow_model::state::CallbackState;
use ferroflow_model::{extended_json, id};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::run::Definition;
use crate::{Context, Error};

/// The deadlines that each run of a DAG gets, and what keeps it from getting others.
#[derive(Clone, Debug, Default)]
pub(super) struct PlannedDeadlines {
    deadlines: Vec<Planned>,
    problems: Vec<String>,
}

#[derive(Clone, Debug)]
struct Planned {
    alert_id: Uuid,
    reference: DeadlineReference,
    interval: SignedDuration,
    callback: DeadlineCallback,
}

/// The run that gets deadlines.
pub(super) struct OfRun<'a> {
    pub(super) id: i64,
    pub(super) dag_id: &'a str,
    pub(super) bundle_name: &'a str,
    pub(super) logical_date: Option<Timestamp>,
}

/// What some versions of DAGs ask for. Variables are looked up here, which a transaction may not wait for: they may come
/// from a secrets backend.
pub(super) async fn plan(
    cx: &Context,
    definitions: &[&Arc<Definition>],
) -> Result<HashMap<Uuid, PlannedDeadlines>, Error> {
    let mut planned: HashMap<Uuid, PlannedDeadlines> = HashMap::new();
    let with_deadlines = definitions.iter().filter(|definition| !definition.dag().deadlines.is_empty());
    let versions: &Vec<Uuid> = &with_deadlines.map(|definition| definition.version.id).collect();
    if versions.is_empty() {
        return Ok(planned);
    }
    let alerts = cx.db.read(|tx| async move { new_deadline::alerts(tx, versions).await }.scope_boxed());
    for alert in alerts.await? {
        let deadlines = planned.entry(alert.dag_version_id).or_default();
        match read(cx, &alert).await {
            Ok(deadline) => deadlines.deadlines.push(deadline),
            Err(problem) => deadlines.problems.push(format!("deadline {}: {problem}", alert.id)),
        }
    }
    Ok(planned)
}

/// Gives a new run its deadlines. Says how many, and why not more.
pub(super) async fn add(
    tx: &mut Tx,
    run: &OfRun<'_>,
    planned: &PlannedDeadlines,
    now: Timestamp,
) -> Result<(usize, Vec<String>), DbError> {
    let mut problems = planned.problems.clone();
    let mut number = 0;
    for planned in &planned.deadlines {
        let past = match planned.reference {
            DeadlineReference::AverageRuntime { max_runs, .. } => {
                new_deadline::past_durations(tx, run.dag_id, max_runs).await?
            }
            _ => Vec::new(),
        };
        let facts = RunFacts { logical_date: run.logical_date, queued_at: now, past: &past };
        match deadline(&planned.reference, planned.interval, &facts) {
            Ok(at) => {
                let callback = row(run, &planned.callback, now);
                callback::insert(tx, &callback).await?;
                new_deadline::insert(tx, run.id, planned.alert_id, callback.id, at, now).await?;
                number += 1;
            }
            Err(reason) => problems.push(format!("deadline {}: {reason}", planned.alert_id)),
        }
    }
    Ok((number, problems))
}

async fn read(cx: &Context, alert: &Alert) -> Result<Planned, String> {
    let read = DeadlineAlert::of_columns(&alert.reference, &alert.interval, &alert.callback)
        .and_then(|read| Ok((read.callback()?, read)));
    let (callback, read) = read.map_err(|problems| problems.to_string())?;
    let interval = match read.interval {
        DeadlineInterval::Fixed(interval) => interval,
        DeadlineInterval::Variable(key) => {
            let value = cx.service.variable(&key).await.map_err(|refusal| refusal.to_string())?;
            let value = value.ok_or_else(|| format!("there is no variable {key:?}"))?;
            let seconds =
                value.trim().parse().map_err(|_| format!("variable {key:?} is no number of seconds"))?;
            SignedDuration::from_secs(seconds)
        }
    };
    Ok(Planned { alert_id: alert.id, reference: read.reference, interval, callback })
}

/// As Airflow writes it, in this order.
fn row(run: &OfRun<'_>, callback: &DeadlineCallback, now: Timestamp) -> Callback {
    let kwargs = callback.kwargs.value().unwrap_or_else(|_| json!({}));
    let mut data =
        json!({"dag_id": run.dag_id, "prefix": "deadline_alerts", "path": callback.path, "kwargs": kwargs});
    let callback_type = match &callback.place {
        CallbackPlace::Triggerer => "triggerer",
        CallbackPlace::Executor(executor) => {
            data["executor"] = json!(executor);
            "executor"
        }
    };
    Callback {
        id: id::new_v7(now, rand::random()),
        callback_type: callback_type.to_owned(),
        fetch_method: "import_path".to_owned(),
        data: Json::from(extended_json::encode(&data)),
        bundle_name: Some(run.bundle_name.to_owned()),
        state: Some(CallbackState::Scheduled),
        output: None,
        priority_weight: 1,
        created_at: now,
        trigger_id: None,
    }
}
