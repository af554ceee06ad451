//! Where variables and connections come from: a backend of the site's own, the environment, the database.

mod python_backend;

use std::pin::Pin;
use std::sync::Arc;

use ferroflow_config::Environment;
use ferroflow_db::connection::{self, Connection};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Db, Error, ScopedFutureExt as _, variable};

use crate::connection_text;

pub use python_backend::PythonBackend;

/// What a backend answers: the value, none, or why it could not look.
pub type BackendAnswer<'a, T> = Pin<Box<dyn Future<Output = Result<Option<T>, String>> + Send + 'a>>;

/// A secrets backend (`[secrets] backend`), which is Python and lives elsewhere.
pub trait SecretsBackend: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;
    fn variable<'a>(&'a self, key: &'a str) -> BackendAnswer<'a, String>;
    fn connection<'a>(&'a self, conn_id: &'a str) -> BackendAnswer<'a, Connection>;
}

/// Looks up variables and connections.
#[derive(Clone)]
pub struct Secrets {
    pub db: Db,
    /// What encrypts them in the database.
    pub fernet: Arc<Fernet>,
    /// Where `AIRFLOW_VAR_…` and `AIRFLOW_CONN_…` are.
    pub environment: Arc<Environment>,
    /// The backend of `[secrets] backend`, which is asked first.
    pub backend: Option<Arc<dyn SecretsBackend>>,
}

impl Secrets {
    /// The value of a variable that user code of no team sees. What cannot be read is passed over, with a
    /// warning, as Airflow does.
    pub async fn variable(&self, key: &str) -> Result<Option<String>, Error> {
        if let Some(value) = self.variable_outside(key).await {
            return Ok(Some(value));
        }
        let found =
            self.db.read(|tx| async move { variable::get(tx, &self.fernet, key).await }.scope_boxed());
        let found = readable(found.await)?;
        Ok(found.filter(|variable| variable.is_visible_to(None)).map(|variable| variable.val))
    }

    /// A connection that user code of no team sees.
    pub async fn connection(&self, conn_id: &str) -> Result<Option<Connection>, Error> {
        if let Some(found) = self.connection_outside(conn_id).await {
            return Ok(Some(found));
        }
        let found =
            self.db.read(|tx| async move { connection::find(tx, &self.fernet, conn_id).await }.scope_boxed());
        let found = readable(found.await)?.filter(|connection| connection.is_visible_to(None));
        Ok(found.filter(|connection| match connection_text::extra_fields(connection.extra.as_deref()) {
            Ok(_) => true,
            Err(problem) => {
                passed_over("connection", conn_id, "metadata database", &problem);
                false
            }
        }))
    }

    /// A connection as long as it does not come from the database.
    pub async fn connection_outside(&self, conn_id: &str) -> Option<Connection> {
        if let Some(backend) = &self.backend {
            match backend.connection(conn_id).await {
                Ok(None) => {}
                Ok(found) => return found,
                Err(problem) => passed_over("connection", conn_id, backend.name(), &problem),
            }
        }
        let text =
            self.environment.var(&environment_name("CONN", conn_id)).filter(|text| !text.is_empty())?;
        match connection_text::read(conn_id, text) {
            Ok(found) => Some(found),
            Err(problem) => {
                passed_over("connection", conn_id, "environment", &problem);
                None
            }
        }
    }

    /// A variable's value as long as it does not come from the database.
    pub async fn variable_outside(&self, key: &str) -> Option<String> {
        if let Some(backend) = &self.backend {
            match backend.variable(key).await {
                Ok(None) => {}
                Ok(found) => return found,
                Err(problem) => passed_over("variable", key, backend.name(), &problem),
            }
        }
        self.environment.var(&environment_name("VAR", key)).map(str::to_owned)
    }
}

fn environment_name(kind: &str, name: &str) -> String {
    format!("AIRFLOW_{kind}_{}", name.to_uppercase())
}

/// What cannot be decrypted is as good as not there.
fn readable<T>(found: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
    match found {
        Err(Error::Fernet { what, source }) => {
            tracing::warn!("{what} cannot be read ({source}); to user code it does not exist");
            Ok(None)
        }
        other => Ok(other?),
    }
}

fn passed_over(kind: &str, name: &str, place: &str, problem: &str) {
    tracing::warn!("{kind} {name:?} cannot be had from the {place}: {problem}; the next place is asked");
}
