//! `GET /health`: whether this component lives, for a supervisor that restarts it if not. Others on its host do not count.
//! `GET /metrics`: what Prometheus reads.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use ferroflow_db::{Db, ScopedFutureExt as _, job};
use ferroflow_telemetry::clock::signed;
use ferroflow_telemetry::metrics::Shown;
use ferroflow_telemetry::{chain, clock};
use jiff::{SignedDuration, Timestamp};
use tokio::net::TcpListener;

use crate::capped::Capped;
use crate::{Error, JobId, JobType, Runtime};

/// What Prometheus calls its text.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How many may ask at a time.
const MAX_CONNECTIONS: usize = 32;

/// How often measurements are summed up, whether they are read or not.
const SUM_UP: Duration = Duration::from_secs(5);

/// Where a component answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthEndpoint {
    pub host: String,
    pub port: u16,
    /// What to do if that is taken.
    pub advice: &'static str,
}

pub(crate) struct HealthServer {
    listener: TcpListener,
    answering: Arc<Answering>,
}

/// What requests are answered from.
struct Answering {
    db: Db,
    component: &'static str,
    threshold: SignedDuration,
    /// The row of the component, once it has one.
    job_id: Arc<OnceLock<JobId>>,
    metrics: Option<Shown>,
}

impl HealthServer {
    pub(crate) async fn bind(
        endpoint: &HealthEndpoint,
        runtime: &Runtime,
        job_type: JobType,
        job_id: Arc<OnceLock<JobId>>,
    ) -> Result<Self, Error> {
        let HealthEndpoint { host, port, advice } = endpoint.clone();
        let listener = TcpListener::bind((host.as_str(), port)).await;
        let listener = listener.map_err(|source| Error::HealthCheck { host, port, advice, source })?;
        let answering = Answering {
            db: runtime.db.clone(),
            component: job_type.component(),
            threshold: signed(job_type.health_threshold(&runtime.settings)),
            job_id,
            metrics: runtime.metrics.clone(),
        };
        Ok(Self { listener, answering: Arc::new(answering) })
    }

    /// Answers until it is dropped.
    pub(crate) async fn serve(self) {
        let Self { listener, answering } = self;
        let router = Router::new().route("/health", get(health)).route("/metrics", get(exposition));
        let router = router.with_state(Arc::clone(&answering));
        tokio::select! {
            served = async { axum::serve(Capped::new(listener, MAX_CONNECTIONS), router).await } => if let Err(error) = served {
                tracing::error!("the health check has ended: {}", chain(&error));
            },
            () = sum_up(answering.metrics.as_ref()) => {}
        }
    }
}

async fn sum_up(metrics: Option<&Shown>) {
    loop {
        tokio::time::sleep(SUM_UP).await;
        if let Some(metrics) = metrics {
            metrics.sum_up();
        }
    }
}

async fn exposition(State(answering): State<Arc<Answering>>) -> Response {
    let Some(metrics) = answering.metrics.clone() else { return StatusCode::NOT_FOUND.into_response() };
    // There may be many: others are answered meanwhile.
    match tokio::task::spawn_blocking(move || metrics.text()).await {
        Ok(text) => ([(header::CONTENT_TYPE, EXPOSITION)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn health(State(answering): State<Arc<Answering>>) -> StatusCode {
    answering.status(clock::now()).await
}

impl Answering {
    async fn status(&self, now: Timestamp) -> StatusCode {
        let Some(id) = self.job_id.get().map(JobId::get) else { return StatusCode::SERVICE_UNAVAILABLE };
        match self.db.read(|tx| async move { job::find(tx, id).await }.scope_boxed()).await {
            Ok(Some(job)) if job.is_alive(now, self.threshold) => StatusCode::OK,
            Ok(_) => StatusCode::SERVICE_UNAVAILABLE,
            Err(error) => {
                tracing::warn!("the health of the {} cannot be read: {}", self.component, chain(&error));
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_execution::Host;
    use ferroflow_model::state::JobState;
    use ferroflow_testkit::{Server, TestDb};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;
    use crate::job::row;

    const LIVES: StatusCode = StatusCode::OK;
    const DOES_NOT: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

    #[tokio::test]
    async fn a_component_of_any_kind_lives_while_its_own_row_shows_it() {
        let start = Timestamp::constant(1_800_000_000, 0);
        let later = |seconds| start + SignedDuration::from_secs(seconds);
        let database = TestDb::migrated(Server::Sqlite).await;
        let db = database.connect().await;
        let host = Host { name: "host".to_owned(), user: "user".to_owned() };
        for job_type in [JobType::Triggerer, JobType::DagProcessor, JobType::Scheduler] {
            let answering = Answering {
                db: db.clone(),
                component: job_type.component(),
                threshold: SignedDuration::from_secs(30),
                job_id: Arc::default(),
                metrics: None,
            };
            assert_eq!(answering.status(start).await, DOES_NOT, "it has no row yet");
            let id = row::start(&db, job_type, &host, start).await.unwrap();
            answering.job_id.set(JobId::constant(id)).expect("it is the first");
            assert_eq!(answering.status(later(29)).await, LIVES);
            assert_eq!(answering.status(later(30)).await, DOES_NOT);
            // Another one of this host does not count for it.
            row::start(&db, job_type, &host, later(30)).await.unwrap();
            assert_eq!(answering.status(later(30)).await, DOES_NOT);
            assert!(row::beat(&db, job_type, id, later(40)).await.unwrap());
            assert_eq!(answering.status(later(41)).await, LIVES);
            row::end(&db, job_type, id, JobState::Success, later(42)).await.unwrap();
            assert_eq!(answering.status(later(42)).await, DOES_NOT);
        }
    }

    #[tokio::test]
    async fn it_answers_over_http() {
        let database = TestDb::migrated(Server::Sqlite).await;
        let db = database.connect().await;
        let host = Host { name: "host".to_owned(), user: "user".to_owned() };
        let id = row::start(&db, JobType::Triggerer, &host, clock::now()).await.unwrap();
        let answering = Arc::new(Answering {
            db,
            component: JobType::Triggerer.component(),
            threshold: SignedDuration::from_hours(1),
            job_id: Arc::default(),
            metrics: None,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(HealthServer { listener, answering: Arc::clone(&answering) }.serve());
        let ask = async |path: &str| {
            let mut connection = TcpStream::connect(address).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
            connection.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            connection.read_to_string(&mut answer).await.unwrap();
            answer.split(' ').nth(1).map(str::to_owned)
        };
        assert_eq!(ask("/health").await.as_deref(), Some("503"));
        answering.job_id.set(JobId::constant(id)).expect("it is the first");
        assert_eq!(ask("/health").await.as_deref(), Some("200"));
        assert_eq!(ask("/metrics").await.as_deref(), Some("404"), "none are kept");
        assert_eq!(ask("/elsewhere").await.as_deref(), Some("404"));
        server.abort();
    }
}
