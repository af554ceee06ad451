//! `GET /health`: whether this scheduler lives, for whoever restarts it if not; how others on its host do is not asked.
//! `GET /metrics`: what Prometheus reads.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use ferroflow_config::Settings;
use ferroflow_dagproc::Host;
use ferroflow_db::Db;
use ferroflow_operations::job::{JobQuery, alive};
use ferroflow_scheduler::rescan::JOB_TYPE;
use ferroflow_telemetry::metrics::Shown;
use ferroflow_telemetry::{chain, clock};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::capped::Capped;
use crate::session::Session;

/// What Prometheus calls its text.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How many may ask at a time.
const MAX_CONNECTIONS: usize = 32;

/// How often measurements are summed up, whether anybody reads them or not.
const SUM_UP: Duration = Duration::from_secs(5);

/// Who is asked about, and where.
struct Asking {
    db: Db,
    settings: Arc<Settings>,
    hostname: String,
    /// Its row, once it has one.
    job_id: Arc<OnceLock<i64>>,
    shown: Option<Shown>,
}

/// Answers, if `[scheduler] enable_health_check` says so, until it is aborted.
pub(super) async fn listen(
    session: &Session,
    db: &Db,
    host: &Host,
    job_id: Arc<OnceLock<i64>>,
    shown: Option<Shown>,
) -> Result<JoinHandle<()>> {
    let settings = &session.settings.scheduler;
    if !settings.enable_health_check {
        return Ok(tokio::spawn(async {}));
    }
    let address =
        (settings.scheduler_health_check_server_host.as_str(), settings.scheduler_health_check_server_port);
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!(
            "the health check cannot listen on {}:{}; change [scheduler] scheduler_health_check_server_host and \
             scheduler_health_check_server_port, or switch enable_health_check off",
            address.0, address.1
        )
    })?;
    let (settings, hostname) = (Arc::clone(&session.settings), host.name.clone());
    let asking = Arc::new(Asking { db: db.clone(), settings, hostname, job_id, shown });
    let router = Router::new().route("/health", get(answer)).route("/metrics", get(exposition));
    let router = router.with_state(Arc::clone(&asking));
    Ok(tokio::spawn(async move {
        tokio::select! {
            served = async { axum::serve(Capped::new(listener, MAX_CONNECTIONS), router).await } => if let Err(error) = served {
                tracing::error!("the health check has ended: {}", chain(&error));
            },
            () = sum_up(&asking) => {}
        }
    }))
}

async fn sum_up(asking: &Asking) {
    loop {
        tokio::time::sleep(SUM_UP).await;
        if let Some(shown) = &asking.shown {
            shown.sum_up();
        }
    }
}

async fn exposition(State(asking): State<Arc<Asking>>) -> Response {
    let Some(shown) = asking.shown.clone() else { return StatusCode::NOT_FOUND.into_response() };
    // There may be many: others are answered meanwhile.
    match tokio::task::spawn_blocking(move || shown.text()).await {
        Ok(text) => ([(header::CONTENT_TYPE, EXPOSITION)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn answer(State(asking): State<Arc<Asking>>) -> StatusCode {
    let Some(id) = asking.job_id.get() else { return StatusCode::SERVICE_UNAVAILABLE };
    let query = JobQuery {
        job_type: Some(JOB_TYPE.to_owned()),
        hostname: Some(asking.hostname.clone()),
        id: Some(*id),
        limit: 0,
    };
    match alive(&asking.db, &asking.settings, &query, clock::now()).await {
        Ok(1..) => StatusCode::OK,
        Ok(0) => StatusCode::SERVICE_UNAVAILABLE,
        Err(error) => {
            tracing::warn!("it cannot be told whether the scheduler lives: {}", chain(&error));
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}
