//! `GET /health`: whether the scheduler of this host lives, for whoever restarts it if not.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use ferroflow_dagproc::Host;
use ferroflow_db::Db;
use ferroflow_scheduler::look_around::JOB_TYPE;
use ferroflow_telemetry::{chain, clock};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::commands::jobs::{Asked, alive};
use crate::session::Session;

/// Who is asked about, and where.
struct Asking {
    db: Db,
    asked: Asked,
}

/// Answers, if `[scheduler] enable_health_check` says so, until it is aborted.
pub(super) async fn listen(session: &Session, db: &Db, host: &Host) -> Result<JoinHandle<()>> {
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
    let asked = Asked {
        job_type: Some(JOB_TYPE.to_owned()),
        hostname: Some(host.name.clone()),
        limit: 1,
        settings: Arc::clone(&session.settings),
    };
    let asking = Arc::new(Asking { db: db.clone(), asked });
    let router = Router::new().route("/health", get(answer)).with_state(asking);
    Ok(tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!("the health check has ended: {}", chain(&error));
        }
    }))
}

async fn answer(State(asking): State<Arc<Asking>>) -> StatusCode {
    match alive(&asking.db, &asking.asked, clock::now()).await {
        Ok(1..) => StatusCode::OK,
        Ok(0) => StatusCode::SERVICE_UNAVAILABLE,
        Err(error) => {
            tracing::warn!("it cannot be told whether the scheduler lives: {}", chain(&error));
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}
