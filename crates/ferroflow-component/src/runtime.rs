//! What the components of a process work with, made once.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ferroflow_config::{Environment, Settings};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Db, notifications, schema};
use ferroflow_execution::api::ExecutionApi;
use ferroflow_execution::{Host, InProcessApi, Rules, Service};
use ferroflow_operations::secrets::{PythonBackend, SecretsBackend};
use ferroflow_python::extensions::SecretsBackends;
use ferroflow_python::listeners::SchedulerListeners;
use ferroflow_python::{ForkServer, ForkServerOptions, RunExtensions};
use ferroflow_telemetry::metrics::Shown;
use tokio::task::JoinSet;

use crate::process::Process;
use crate::{Error, Session, StateReports};

/// How long connections are waited for at the end: a service manager has no more patience.
const LAST_CONNECTIONS: Duration = Duration::from_secs(5);

/// What the components of a process share: the database, Python, and what answers user code. Which of them run makes no
/// difference to it.
pub struct Runtime {
    pub db: Db,
    pub settings: Arc<Settings>,
    pub fernet: Arc<Fernet>,
    /// This host, under the name that rows have for it.
    pub host: Host,
    /// Where processes that run user code come from. It is started by what needs it first.
    pub python: ForkServer,
    /// What answers user code.
    pub service: Service,
    pub(crate) metrics: Option<Shown>,
    pub(crate) states: StateReports,
    /// What listens to other processes, once a component has asked for it.
    listening: Mutex<JoinSet<()>>,
}

/// What a runtime is made of.
pub struct RuntimeParts {
    pub db: Db,
    pub settings: Arc<Settings>,
    /// Where `AIRFLOW_VAR_…` and `AIRFLOW_CONN_…` are.
    pub environment: Environment,
    /// What encrypts variables and connections.
    pub fernet: Arc<Fernet>,
    /// The interpreter, which has Airflow.
    pub python: PathBuf,
    pub host: Host,
}

impl Runtime {
    /// Connects to a database that has the right tables, and finds the name of this host and an interpreter.
    /// `variables` are for user code, besides the environment of this process.
    pub async fn connect(session: &Session, variables: Vec<(OsString, OsString)>) -> Result<Self, Error> {
        let db = session.connect().await?;
        schema::check(&db).await?;
        Self::new(session, db, session.host_of_rows()?, variables)
    }

    /// The same on a database to which there is a connection.
    pub fn new(
        session: &Session,
        db: Db,
        host: Host,
        variables: Vec<(OsString, OsString)>,
    ) -> Result<Self, Error> {
        let parts = RuntimeParts {
            db,
            settings: Arc::clone(&session.settings),
            environment: session.environment().clone(),
            fernet: Arc::clone(&session.fernet),
            python: session.interpreter()?.path.clone(),
            host,
        };
        Ok(Self::of(parts, variables))
    }

    /// The same of what was found already.
    pub fn of(parts: RuntimeParts, variables: Vec<(OsString, OsString)>) -> Self {
        let RuntimeParts { db, settings, environment, fernet, python, host } = parts;
        let options = ForkServerOptions { environment: variables, ..ForkServerOptions::new(python) };
        let python = ForkServer::at_first_use(options);
        let backend = settings.secrets.backend.as_ref().map(|name| {
            let backend = PythonBackend::new(name, SecretsBackends::new(python.clone()));
            Arc::new(backend) as Arc<dyn SecretsBackend>
        });
        Self {
            service: service(&db, &settings, &fernet, environment, backend),
            db,
            settings,
            fernet,
            host,
            python,
            metrics: None,
            states: StateReports::default(),
            listening: Mutex::default(),
        }
    }

    /// The same in a process whose metrics are shown and which logs its state on a signal.
    #[must_use]
    pub fn in_process(self, process: &Process) -> Self {
        Self { metrics: process.shown_metrics(), states: process.states().clone(), ..self }
    }

    /// Waits until Python has loaded Airflow.
    pub async fn python_ready(&self) -> Result<(), Error> {
        self.python.sdk_version().await.map(drop).map_err(Error::PythonNotReady)
    }

    /// Timetables, weight rules and the mutation hook of this site, asked in processes that belong to the caller alone: a
    /// class that hangs and is left alone for one component may still be asked by another.
    pub fn extensions(&self) -> RunExtensions {
        RunExtensions::new(&self.python, &self.settings)
    }

    /// What supervisors in this process report to: no other process answers them.
    pub fn execution_api(&self) -> Result<Arc<dyn ExecutionApi>, Error> {
        let service = self.service.clone();
        Ok(Arc::new(InProcessApi::for_supervisors(service, &self.python, &self.settings, &self.host)?))
    }

    /// Listeners of plugins, which hear what happens from now on.
    pub fn listeners(&self) -> SchedulerListeners {
        SchedulerListeners::start(self.python.clone(), self.settings.ferroflow.user_code_timeout)
    }

    /// Has notifications of other processes arrive at [`Db::notifications`]. However many components ask for it, one
    /// connection listens.
    pub(crate) fn listen_to_other_processes(&self) {
        let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
        if listening.is_empty() {
            listening.spawn(notifications::listen(self.db.clone()));
        }
    }

    /// Ends Python with all that it started, and the connections to the database. A connection that does not come back
    /// keeps the process from ending for a few seconds only.
    pub async fn close(&self) {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.python.stop().await;
        if tokio::time::timeout(LAST_CONNECTIONS, self.db.close()).await.is_err() {
            tracing::warn!("connections to the database are still in use; they are cut off");
        }
    }
}

/// What answers user code: the environment and the database, and the backend of `[secrets] backend` if it is given.
pub(crate) fn service(
    db: &Db,
    settings: &Settings,
    fernet: &Arc<Fernet>,
    environment: Environment,
    backend: Option<Arc<dyn SecretsBackend>>,
) -> Service {
    Service {
        db: db.clone(),
        fernet: Arc::clone(fernet),
        environment: Arc::new(environment),
        backend,
        timetables: None,
        rules: Rules::of(settings),
    }
}
