//! By when something must have happened in a new run, and what is called if it has not.

use std::collections::HashMap;

use ferroflow_db::callback::{self, Callback};
use ferroflow_db::deadline::create::Alert;
use ferroflow_db::{Db, Error as DbError, Json, ScopedFutureExt as _, Tx, deadline};
use ferroflow_model::dag::{
    CallbackPlace, DeadlineAlert, DeadlineCallback, DeadlineInterval, DeadlineReference,
};
use ferroflow_model::runs::deadlines::{RunFacts, deadline};
use ferroflow_model::sdk_json::{self, OtherType};
use ferroflow_model::state::CallbackState;
use ferroflow_model::{extended_json, id};
use ferroflow_python::timetables::Timetables;
use ferroflow_telemetry::chain;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use uuid::Uuid;

use super::PlannedRun;
use crate::secrets::Secrets;

/// The deadlines that a run of a DAG gets, and what keeps it from getting others.
#[derive(Clone, Debug, Default)]
pub struct PlannedDeadlines {
    deadlines: Vec<Planned>,
    problems: Vec<String>,
}

#[derive(Clone, Debug)]
struct Planned {
    alert_id: Uuid,
    reference: DeadlineReference,
    interval: DeadlineInterval,
    callback: DeadlineCallback,
}

/// The run that gets deadlines.
pub struct OfRun<'a> {
    /// Its row.
    pub id: i64,
    /// The DAG.
    pub dag_id: &'a str,
    /// Its bundle.
    pub bundle_name: &'a str,
    /// The date that the run stands for.
    pub logical_date: Option<Timestamp>,
}

/// What some versions of DAGs ask for.
pub async fn plan_deadlines(db: &Db, versions: &[Uuid]) -> Result<HashMap<Uuid, PlannedDeadlines>, DbError> {
    let mut planned: HashMap<Uuid, PlannedDeadlines> = HashMap::new();
    if versions.is_empty() {
        return Ok(planned);
    }
    let alerts = db.read(|tx| async move { deadline::create::alerts(tx, versions).await }.scope_boxed());
    for alert in alerts.await? {
        let deadlines = planned.entry(alert.dag_version_id).or_default();
        match read(&alert) {
            Ok(deadline) => deadlines.deadlines.push(deadline),
            Err(problem) => deadlines.problems.push(format!("deadline {}: {problem}", alert.id)),
        }
    }
    Ok(planned)
}

impl PlannedDeadlines {
    /// Whether a class of somebody's own has a say, or a variable, which a secrets backend may have: a transaction may wait
    /// for neither.
    pub fn needs_asking(&self) -> bool {
        self.deadlines.iter().any(|planned| {
            matches!(planned.reference, DeadlineReference::Custom { .. })
                || matches!(planned.interval, DeadlineInterval::Variable(_))
        })
    }

    /// Looks up the variables that say how much time there is. One that is missing costs its deadline only.
    pub async fn look_up(&mut self, secrets: &Secrets) {
        for mut planned in std::mem::take(&mut self.deadlines) {
            if let DeadlineInterval::Variable(key) = &planned.interval {
                match seconds(secrets, key).await {
                    Ok(interval) => planned.interval = DeadlineInterval::Fixed(interval),
                    Err(problem) => {
                        self.problems.push(format!("deadline {}: {problem}", planned.alert_id));
                        continue;
                    }
                }
            }
            self.deadlines.push(planned);
        }
    }

    /// Asks classes of somebody's own from when the time is counted for a run. One that fails costs its deadline only.
    pub async fn ask(&mut self, python: Option<&Timetables>, run: &PlannedRun) {
        let Some(python) = python else { return };
        for mut planned in std::mem::take(&mut self.deadlines) {
            if let DeadlineReference::Custom { class, data } = &planned.reference {
                match python.deadline_base(class, data, &run.to_be()).await {
                    Ok(Some(at)) => planned.reference = DeadlineReference::Fixed(at),
                    Ok(None) => continue,
                    Err(error) => {
                        self.problems.push(format!("deadline {}: {}", planned.alert_id, chain(&error)));
                        continue;
                    }
                }
            }
            self.deadlines.push(planned);
        }
    }

    /// Gives a new run its deadlines. Says how many, and why not more.
    pub async fn add(
        &self,
        tx: &mut Tx,
        run: &OfRun<'_>,
        now: Timestamp,
    ) -> Result<(usize, Vec<String>), DbError> {
        let mut problems = self.problems.clone();
        let mut number = 0;
        for planned in &self.deadlines {
            let DeadlineInterval::Fixed(interval) = planned.interval else {
                problems.push(format!("deadline {}: its variable was not looked up", planned.alert_id));
                continue;
            };
            let past = match planned.reference {
                DeadlineReference::AverageRuntime { max_runs, .. } => {
                    deadline::create::past_durations(tx, run.dag_id, max_runs).await?
                }
                _ => Vec::new(),
            };
            let facts = RunFacts { logical_date: run.logical_date, queued_at: now, past: &past };
            match deadline(&planned.reference, interval, &facts) {
                Ok(at) => match row(run, &planned.callback, now) {
                    Ok(callback) => {
                        callback::insert(tx, &callback).await?;
                        deadline::create::insert(tx, run.id, planned.alert_id, callback.id, at, now).await?;
                        number += 1;
                    }
                    Err(other) => problems.push(format!("deadline {}: {other}", planned.alert_id)),
                },
                Err(reason) => problems.push(format!("deadline {}: {reason}", planned.alert_id)),
            }
        }
        Ok((number, problems))
    }
}

fn read(alert: &Alert) -> Result<Planned, String> {
    let read = DeadlineAlert::of_columns(&alert.reference, &alert.interval, &alert.callback)
        .and_then(|read| Ok((read.callback()?, read)));
    let (callback, read) = read.map_err(|problems| problems.to_string())?;
    Ok(Planned { alert_id: alert.id, reference: read.reference, interval: read.interval, callback })
}

async fn seconds(secrets: &Secrets, key: &str) -> Result<SignedDuration, String> {
    let value = secrets.variable(key).await.map_err(|error| error.to_string())?;
    let value = value.ok_or_else(|| format!("there is no variable {key:?}"))?;
    let seconds = value.trim().parse().map_err(|_| format!("variable {key:?} is no number of seconds"))?;
    Ok(SignedDuration::from_secs(seconds))
}

/// As Airflow writes it, in this order.
fn row(run: &OfRun<'_>, callback: &DeadlineCallback, now: Timestamp) -> Result<Callback, OtherType> {
    let kwargs = sdk_json::to_extended(&callback.kwargs.value().unwrap_or_else(|_| json!({})))?;
    let (dag_id, path) = (run.dag_id, &callback.path);
    let mut data = json!({"dag_id": dag_id, "prefix": "deadline_alerts", "path": path, "kwargs": null});
    let callback_type = match &callback.place {
        CallbackPlace::Triggerer => "triggerer",
        CallbackPlace::Executor(executor) => {
            data["executor"] = json!(executor);
            "executor"
        }
    };
    let mut data = extended_json::encode(&data);
    data["__var"]["kwargs"] = kwargs;
    Ok(Callback {
        id: id::new_v7(now, rand::random()),
        callback_type: callback_type.to_owned(),
        fetch_method: "import_path".to_owned(),
        data: Json::from(data),
        bundle_name: Some(run.bundle_name.to_owned()),
        state: Some(CallbackState::Scheduled),
        output: None,
        priority_weight: 1,
        created_at: now,
        trigger_id: None,
    })
}
