//! The logs of tasks, or of triggers, that ran on this host, for an API server that shows them.
//!
//! `GET /log/<path below base_log_folder>`, with a token in `Authorization` that names that very path. Nothing else is
//! served, and nothing outside of the folder, whatever the path or a link says. A thread of its own does it, so that who
//! reads logs does not keep tasks waiting.

mod token;

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use ferroflow_config::Settings;
use ferroflow_telemetry::{chain, clock};
use percent_encoding::percent_decode_str;
use tokio_util::sync::CancellationToken;
use tower_http::services::ServeFile;

use token::BadToken;

use crate::capped::Capped;

/// How many may read at a time.
const MAX_CONNECTIONS: usize = 64;

/// The logs of a host, and where they are served.
pub struct LogServer {
    folder: PathBuf,
    port: u16,
    /// The option that names the port.
    option: &'static str,
    secret: String,
}

impl LogServer {
    /// Where tasks run: beside a scheduler with a local executor, or a worker.
    pub fn of_tasks(settings: &Settings) -> Self {
        let (port, option) = (settings.logging.worker_log_server_port, "[logging] worker_log_server_port");
        Self::new(settings, port, option)
    }

    /// Where triggers run.
    pub fn of_triggers(settings: &Settings) -> Self {
        let (port, option) = (settings.logging.trigger_log_server_port, "[logging] trigger_log_server_port");
        Self::new(settings, port, option)
    }

    fn new(settings: &Settings, port: u16, option: &'static str) -> Self {
        let secret = settings.api.secret_key.as_ref().map_or("", |secret| secret.expose()).to_owned();
        Self { folder: settings.logging.base_log_folder.clone(), port, option, secret }
    }

    /// Serves the logs until what is returned is dropped. A port that is taken is no reason to do nothing else: another
    /// component of this host serves the same files.
    pub fn listen(self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let Self { folder, port, option, secret } = self;
        // Or there is no IPv6 here.
        let listener = TcpListener::bind(("::", port)).or_else(|_| TcpListener::bind(("0.0.0.0", port)));
        let listener = listener
            .inspect_err(|error| {
                tracing::warn!("logs of tasks are not served: port {port} ({option}): {error}");
            })
            .ok()?;
        if secret.is_empty() {
            tracing::warn!(
                "requests for logs of tasks are refused until [api] secret_key is the same everywhere"
            );
        }
        let router = router(Served { folder, secret });
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let serving = std::thread::Builder::new().name("serve logs".to_owned()).spawn(move || {
            if let Err(error) = serve(listener, router, &stopped) {
                tracing::error!("logs of tasks are not served any more: {}", chain(&error));
            }
        });
        if let Err(error) = serving {
            tracing::warn!("logs of tasks are not served: there is no thread for it: {error}");
        }
        Some(async move {
            let _stops_with_this = stop.drop_guard();
            std::future::pending::<()>().await;
        })
    }
}

/// What requests are answered from.
struct Served {
    folder: PathBuf,
    secret: String,
}

fn router(served: Served) -> Router {
    Router::new()
        .route("/log/{*path}", any(answer))
        .fallback(|| async { nothing() })
        .with_state(Arc::new(served))
}

/// Serves until it is stopped.
fn serve(listener: TcpListener, router: Router, stop: &CancellationToken) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = Capped::new(tokio::net::TcpListener::from_std(listener)?, MAX_CONNECTIONS);
        tokio::select! {
            served = async { axum::serve(listener, router).await } => served,
            () = stop.cancelled() => Ok(()),
        }
    })
}

fn nothing() -> Response {
    refusal(StatusCode::NOT_FOUND, "Not Found")
}

async fn answer(State(served): State<Arc<Served>>, request: Request) -> Response {
    let encoded = request.uri().path().strip_prefix("/log/").unwrap_or_default();
    let Ok(path) = percent_decode_str(encoded).decode_utf8() else { return nothing() };
    let path = path.into_owned();
    if let Some(refused) = served.refused(&request, &path) {
        return refused;
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return refusal(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    }
    let Some(file) = served.find(&path).await else { return nothing() };
    match ServeFile::new_with_mime(file, &mime::TEXT_PLAIN_UTF_8).try_call(request).await {
        Ok(mut response) => {
            // A range that the file does not have is answered without.
            let text = HeaderValue::from_static("text/plain; charset=utf-8");
            response.headers_mut().entry(header::CONTENT_TYPE).or_insert(text);
            response.map(axum::body::Body::new)
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            refusal(StatusCode::UNAUTHORIZED, "Unauthorized")
        }
        Err(_) => nothing(),
    }
}

impl Served {
    /// Why a request is refused, unless it has a token for this path.
    fn refused(&self, request: &Request, path: &str) -> Option<Response> {
        let Some(token) = request.headers().get(header::AUTHORIZATION) else {
            return Some(refusal(StatusCode::FORBIDDEN, "Authorization header missing"));
        };
        let now = clock::now().as_duration().as_secs_f64();
        let named = token.to_str().map_err(|_| BadToken::Malformed);
        match named.and_then(|token| token::filename(token, &self.secret, now)) {
            Ok(named) if named == path && !self.secret.is_empty() => return None,
            Ok(_) => tracing::warn!(path, "a log was asked for with a token for another one"),
            Err(bad) => tracing::warn!(path, "a log was asked for with a token that does not count: {bad}"),
        }
        Some(refusal(StatusCode::FORBIDDEN, "Forbidden"))
    }

    /// The file, if it is one and below the folder.
    async fn find(&self, path: &str) -> Option<PathBuf> {
        if path.contains('\0') {
            return None;
        }
        let (folder, asked) = (self.folder.clone(), self.folder.join(path.trim_start_matches('/')));
        let found = tokio::task::spawn_blocking(move || {
            let (folder, asked) = (folder.canonicalize().ok()?, asked.canonicalize().ok()?);
            (asked.starts_with(&folder) && asked.is_file()).then_some(asked)
        });
        found.await.ok().flatten()
    }
}

/// In the form of the official server.
fn refusal(status: StatusCode, detail: &str) -> Response {
    let body = serde_json::json!({ "detail": detail }).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

#[cfg(test)]
mod tests {
    use ferroflow_config::{Configuration, Environment};

    use super::*;

    #[test]
    fn tasks_and_triggers_have_their_logs_served_on_ports_of_their_own() {
        let environment = Environment::empty("/nowhere");
        let settings = Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
        let servers = [LogServer::of_tasks(&settings), LogServer::of_triggers(&settings)];
        assert_eq!(servers.each_ref().map(|server| server.port), [8793, 8794]);
        assert!(servers.iter().all(|server| server.folder == settings.logging.base_log_folder));
    }
}
