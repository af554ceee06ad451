//! `job`: a row for each long-running component, by which the others see that it lives.

use ferroflow_model::state::JobState;
use jiff::{SignedDuration, Timestamp};

use crate::list::field::{Field, Fields};
use crate::list::value::Kind;
use crate::list::{Condition, ListRequest};
use crate::statement::{Row, binds, sql};
use crate::{Error, Tx};

/// No heartbeat can be so far ahead of now, however wrong a clock is: such a heartbeat is none.
const AHEAD: SignedDuration = SignedDuration::from_hours(72);

const FIELDS: Fields = Fields {
    key: "id",
    all: &[
        Field::new("id", &["job.id"], Kind::Int).ordered(),
        Field::new("dag_id", &["job.dag_id"], Kind::Text),
        Field::new("state", &["job.state"], Kind::Text),
        Field::new("start_date", &["job.start_date"], Kind::Time).ordered(),
    ],
};

/// A component that starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Which component: `SchedulerJob`, `DagProcessorJob`, `TriggererJob`.
    pub job_type: String,
    /// The host it runs on.
    pub hostname: String,
    /// The user of the operating system that it runs as.
    pub unixname: String,
    /// The executor of a scheduler.
    pub executor_class: Option<String>,
}

/// A component, as its row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Counted up by the database.
    pub id: i64,
    /// The DAG it works for, of components that work for one.
    pub dag_id: Option<String>,
    /// Whether it runs. Alive is only what also has a fresh heartbeat.
    pub state: Option<JobState>,
    /// Which component.
    pub job_type: Option<String>,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// When it ended.
    pub end_date: Option<Timestamp>,
    /// When it last showed that it lives.
    pub latest_heartbeat: Option<Timestamp>,
    /// The executor of a scheduler.
    pub executor_class: Option<String>,
    /// The host it runs on.
    pub hostname: Option<String>,
    /// The user of the operating system that it runs as.
    pub unixname: Option<String>,
}

impl Job {
    /// Whether it runs, and has shown so lately.
    pub fn is_alive(&self, now: Timestamp, patience: SignedDuration) -> bool {
        // The clock of one that lives may be ahead of ours, and its heartbeat counts.
        let is_fresh = |beat: Timestamp| now.duration_since(beat) < patience && beat <= latest_possible(now);
        self.state == Some(JobState::Running) && self.latest_heartbeat.is_some_and(is_fresh)
    }
}

/// The last heartbeat that can be believed.
pub(crate) fn latest_possible(now: Timestamp) -> Timestamp {
    now.checked_add(AHEAD).unwrap_or(Timestamp::MAX)
}

/// Announces a component that runs from now on, and returns the id of its row.
pub async fn insert(tx: &mut Tx, job: &NewJob, now: Timestamp) -> Result<i64, Error> {
    let binds = binds![
        JobState::Running.as_str(),
        job.job_type.as_str(),
        now,
        now,
        job.executor_class.as_deref(),
        job.hostname.as_str(),
        job.unixname.as_str(),
    ];
    tx.insert(sql!("job/insert"), binds).await
}

/// One component.
pub async fn find(tx: &mut Tx, id: i64) -> Result<Option<Job>, Error> {
    let row = tx.fetch_optional(sql!("job/find"), binds![id]).await?;
    row.as_ref().map(job).transpose()
}

/// The components that have not ended, of a type and on a host if given, those first that were heard of last.
pub async fn running(
    tx: &mut Tx,
    job_type: Option<&str>,
    hostname: Option<&str>,
    limit: i64,
) -> Result<Vec<Job>, Error> {
    let rows = tx.fetch_all(sql!("job/running"), binds![job_type, hostname, limit]).await?;
    tx.readable(&rows, job)
}

/// The components, of a DAG and in a state if given, those first that started last.
pub async fn list(
    tx: &mut Tx,
    dag_id: Option<&str>,
    state: Option<JobState>,
    limit: i64,
) -> Result<Vec<Job>, Error> {
    let request = ListRequest::new()
        .filter_if("dag_id", dag_id, Condition::is)
        .filter_if("state", state, |state| Condition::is(state.as_str()))
        .order_by(["-start_date"])
        .limit(u32::try_from(limit).unwrap_or(u32::MAX));
    let rows = tx.list(sql!("job/list"), &FIELDS, &request).await?.rows;
    tx.readable(&rows, job)
}

/// Shows that the component lives. Its state becomes `running` whatever it was: one that a peer took for dead
/// is back by its next heartbeat, as Airflow's is. False if its row is gone.
pub async fn heartbeat(tx: &mut Tx, id: i64, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("job/heartbeat"), binds![now, JobState::Running.as_str(), id]).await? == 1)
}

/// Notes how a running component ended. False if it was not running.
pub async fn finish(tx: &mut Tx, id: i64, outcome: JobState, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("job/finish"), binds![outcome.as_str(), now, id]).await? == 1)
}

fn job(row: &Row) -> Result<Job, Error> {
    Ok(Job {
        id: row.get("id")?,
        dag_id: row.optional("dag_id")?,
        state: row.parsed("state")?,
        job_type: row.optional("job_type")?,
        start_date: row.optional("start_date")?,
        end_date: row.optional("end_date")?,
        latest_heartbeat: row.optional("latest_heartbeat")?,
        executor_class: row.optional("executor_class")?,
        hostname: row.optional("hostname")?,
        unixname: row.optional("unixname")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_ahead_lives_and_who_is_impossibly_far_ahead_shows_nothing() {
        let at = |second| Timestamp::from_second(second).ok();
        let alive = |latest_heartbeat| {
            let job = Job {
                id: 1,
                dag_id: None,
                state: Some(JobState::Running),
                job_type: None,
                start_date: None,
                end_date: None,
                latest_heartbeat,
                executor_class: None,
                hostname: None,
                unixname: None,
            };
            job.is_alive(at(1_000).unwrap_or_default(), SignedDuration::from_secs(30))
        };
        let days = |days: i64| 1_000 + days * 24 * 60 * 60;
        assert!(alive(at(971)) && alive(at(1_010)) && alive(at(1_030)) && alive(at(days(3))));
        assert!(!alive(at(970)) && !alive(at(days(3) + 1)) && !alive(None));
    }
}
