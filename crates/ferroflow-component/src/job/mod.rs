//! A component from start to end: its row in `job`, its heartbeat, and what is asked of it from outside.

mod heartbeat;
pub mod row;

use std::sync::{Arc, OnceLock};

use ferroflow_model::state::JobState;
use ferroflow_telemetry::clock;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::health::HealthServer;
use crate::serve_logs::LogServer;
use crate::{Error, JobType, LoopStatus, Progress, Runtime};
use heartbeat::Heartbeat;

/// What a component has done for it besides its row and its heartbeat.
#[derive(Default)]
pub struct Services {
    /// The logs that it serves.
    pub logs: Option<LogServer>,
    /// Whether it wants to know at once what other processes have changed.
    pub notifications: bool,
}

/// The row of a component that runs.
pub struct Job {
    pub id: JobId,
    /// What its loop is doing. A component that does not use it is taken to get on as long as its process lives.
    pub status: Arc<LoopStatus>,
}

/// The id of a component's row. It changes if the row is removed and the component gets another.
#[derive(Clone, Debug)]
pub struct JobId(watch::Receiver<i64>);

impl JobId {
    /// That of a row which does not change.
    pub fn constant(id: i64) -> Self {
        Self(watch::channel(id).1)
    }

    pub fn get(&self) -> i64 {
        *self.0.borrow()
    }
}

/// Announces a component, has it work, and notes how that has ended. Meanwhile its heartbeat is as old as the last thing
/// that its loop began, and it answers whether it lives, also before it has a row.
pub async fn run_job<T, E: From<Error>>(
    runtime: &Runtime,
    job_type: JobType,
    services: Services,
    work: impl AsyncFnOnce(&Job) -> Result<T, E>,
) -> Result<T, E> {
    // All of it ends with this, whatever happens.
    let mut background = JoinSet::new();
    let answered = Arc::new(OnceLock::new());
    if let Some(endpoint) = job_type.health_endpoint(&runtime.settings) {
        let server = HealthServer::bind(&endpoint, runtime, job_type, Arc::clone(&answered)).await?;
        background.spawn(server.serve());
    }
    if let Some(serving) = services.logs.and_then(LogServer::listen) {
        background.spawn(serving);
    }
    let first_id =
        row::start(&runtime.db, job_type, &runtime.host, clock::now()).await.map_err(Error::from)?;
    let (id, ids) = watch::channel(first_id);
    let job = Job { id: JobId(ids), status: Arc::new(LoopStatus::new(job_type, Progress::default())) };
    drop(answered.set(job.id.clone()));
    runtime.states.add(&job.status);
    if services.notifications {
        runtime.listen_to_other_processes();
    }
    let heartbeat = Heartbeat::new(runtime, job_type, id, Arc::clone(&job.status));
    background.spawn(heartbeat.beat_always(job_type.heartbeat_interval(&runtime.settings)));
    let outcome = Box::pin(work(&job)).await;
    // A heartbeat after the end would bring the job back to life.
    background.shutdown().await;
    let state = if outcome.is_ok() { JobState::Success } else { JobState::Failed };
    let ended = end(runtime, job_type, job.id.get(), state).await;
    let done = outcome?;
    ended.map(|()| done).map_err(|error| Error::from(error).into())
}

async fn end(
    runtime: &Runtime,
    job_type: JobType,
    id: i64,
    state: JobState,
) -> Result<(), ferroflow_db::Error> {
    let ending = row::end(&runtime.db, job_type, id, state, clock::now());
    match job_type.patience_at_end() {
        None => ending.await,
        Some(patience) => tokio::time::timeout(patience, ending).await.unwrap_or(Ok(())),
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_config::{Configuration, Environment, Settings};
    use ferroflow_db::ScopedFutureExt as _;
    use ferroflow_db::job;
    use ferroflow_execution::Host;
    use ferroflow_testkit::{Server, TestDb};

    use super::*;
    use crate::RuntimeParts;

    /// A runtime without Python.
    async fn runtime(database: &TestDb) -> Runtime {
        let environment = Environment::empty("/nowhere");
        let configuration = Configuration::load(&environment).unwrap();
        let parts = RuntimeParts {
            db: database.connect().await,
            settings: Arc::new(Settings::load(&configuration).unwrap()),
            environment,
            fernet: Arc::default(),
            python: "/nowhere/python".into(),
            host: Host { name: "host".to_owned(), user: "user".to_owned() },
        };
        Runtime::of(parts, Vec::new())
    }

    async fn row(runtime: &Runtime, id: i64) -> job::Job {
        let found = runtime.db.read(|tx| async move { job::find(tx, id).await }.scope_boxed()).await;
        found.unwrap().expect("its row is there")
    }

    #[tokio::test]
    async fn a_component_has_a_row_while_it_works_and_the_row_tells_how_it_ended() {
        let database = TestDb::migrated(Server::Sqlite).await;
        let runtime = runtime(&database).await;
        for (job_type, is_good) in
            [(JobType::Scheduler, true), (JobType::Triggerer, false), (JobType::DagProcessor, true)]
        {
            let mut seen = 0;
            let worked = run_job(&runtime, job_type, Services::default(), async |job| {
                seen = job.id.get();
                let row = row(&runtime, seen).await;
                assert_eq!(row.state, Some(JobState::Running));
                assert_eq!(row.job_type.as_deref(), Some(job_type.as_str()));
                assert_eq!((row.hostname.as_deref(), row.unixname.as_deref()), (Some("host"), Some("user")));
                if is_good { Ok("done") } else { Err(Error::NoIpv4Address("it has failed".to_owned())) }
            });
            let outcome = worked.await;
            assert_eq!(outcome.ok(), is_good.then_some("done"));
            let ended = row(&runtime, seen).await;
            assert_eq!(ended.state, Some(if is_good { JobState::Success } else { JobState::Failed }));
            assert!(ended.end_date.is_some());
        }
        runtime.close().await;
    }

    /// As `standalone` runs them.
    #[tokio::test]
    async fn components_of_one_process_have_a_row_each_on_one_runtime() {
        let database = TestDb::migrated(Server::Sqlite).await;
        let runtime = runtime(&database).await;
        let both_there = tokio::sync::Barrier::new(2);
        let component = async |job_type| {
            run_job(&runtime, job_type, Services::default(), async |job| {
                both_there.wait().await;
                Ok::<_, Error>(job.id.get())
            })
            .await
            .unwrap()
        };
        let (one, other) = tokio::join!(component(JobType::Scheduler), component(JobType::Triggerer));
        assert_ne!(one, other);
        runtime.close().await;
    }
}
