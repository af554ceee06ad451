//! Why a component, or a command, cannot begin or has to end.

use std::io;

use ferroflow_db::ConnectError;
use ferroflow_db::encoding::fernet::FernetError;
use ferroflow_operations::dag_run::BadRunIdPattern;
use ferroflow_python::host_name::Nameless;
use ferroflow_python::interpreter::NoInterpreter;
use ferroflow_telemetry::UnknownLevel;
use ferroflow_telemetry::metrics::MetricsError;

/// Every fallible function of this crate returns this, unless what can go wrong is of one kind only.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Configuration(#[from] ferroflow_config::Error),
    #[error(transparent)]
    Settings(#[from] ferroflow_config::Invalid),
    #[error(transparent)]
    Fernet(#[from] FernetError),
    #[error(transparent)]
    LogLevel(#[from] UnknownLevel),
    #[error(transparent)]
    LogFile(io::Error),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Database(#[from] ferroflow_db::Error),
    #[error(transparent)]
    NoInterpreter(#[from] NoInterpreter),
    #[error(transparent)]
    Python(#[from] ferroflow_python::Error),
    #[error("Python")]
    PythonNotReady(#[source] ferroflow_python::Error),
    #[error("the {component} could not be started")]
    NotStarted { component: &'static str, source: Box<Error> },
    #[error(transparent)]
    BadRunIdPattern(#[from] BadRunIdPattern),
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    #[error("OTEL_METRIC_EXPORT_INTERVAL: {0:?} is not a number of milliseconds")]
    BadExportInterval(String),
    #[error("[core] hostname_callable")]
    HostName(#[from] Nameless),
    #[error("the address of {name}")]
    NoAddress { name: String, source: io::Error },
    #[error("{0} has no address of IPv4")]
    NoIpv4Address(String),
    #[error(transparent)]
    Signals(io::Error),
    #[error(transparent)]
    Threads(io::Error),
    #[error("the health check cannot listen on {host}:{port}; {advice}")]
    HealthCheck { host: String, port: u16, advice: &'static str, source: io::Error },
}
