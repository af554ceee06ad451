//! What every command that works on the database begins with: settings that are right, and a connection.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, Result};
use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_dagproc::{Host, Parts};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::log_template::{LogTemplate, LogTemplates};
use ferroflow_db::schema::Creation;
use ferroflow_db::{ConnectError, DatabaseUrl, Db, Options, sqlite_files};
use ferroflow_python::interpreter::{Interpreter, Places};
use ferroflow_python::{ForkServer, ForkServerOptions, Purpose};
use ferroflow_telemetry::metrics::{self, Installed, MetricsSettings, OtelSettings};
use ferroflow_telemetry::{LogForm, clock, start_logging};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::host_name;

/// The configuration of this process, checked.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) configuration: Configuration,
    pub(crate) settings: Arc<Settings>,
    pub(crate) fernet: Arc<Fernet>,
    environment: Environment,
    /// Which Python there is, once it was found: looking for it starts it.
    interpreter: OnceLock<Interpreter>,
}

impl Session {
    /// Reads the configuration. A wrong value anywhere in it is refused here, before anything is done.
    pub(crate) fn start(environment: &Environment) -> Result<Self> {
        Self::start_logging(environment, str::to_owned, None)
    }

    /// The same, with everything that can be logged if so wished.
    pub(crate) fn start_with(environment: &Environment, verbose: bool) -> Result<Self> {
        Self::start_to(environment, verbose, None)
    }

    /// The same, with logs that go into a file.
    pub(crate) fn start_to(environment: &Environment, verbose: bool, file: Option<File>) -> Result<Self> {
        Self::start_logging(environment, |level| if verbose { "DEBUG" } else { level }.to_owned(), file)
    }

    /// The same for a command that starts much to answer a question: without a wish for more or less, only what is
    /// wrong is told.
    pub(crate) fn start_quietly(environment: &Environment) -> Result<Self> {
        let quiet = |level: &str| if level == "INFO" { "WARNING" } else { level }.to_owned();
        Self::start_logging(environment, quiet, None)
    }

    /// The same for a command that tells of the configuration itself.
    pub(crate) fn start_without_warnings(environment: &Environment) -> Result<Self> {
        let (configuration, settings, fernet) = Self::read(environment)?;
        let form = LogForm { is_json: settings.logging.json_logs, file: None };
        start_logging("ERROR", form)?;
        Ok(Self::of(configuration, settings, fernet, environment))
    }

    /// The same for a command that shows something else on the terminal: what is logged goes into a file.
    pub(crate) fn start_with_log_file(environment: &Environment, verbose: bool, file: &Path) -> Result<Self> {
        let file = fs_err::File::options().create(true).append(true).open(file)?.into_parts().0;
        Self::start_to(environment, verbose, Some(file))
    }

    fn start_logging(
        environment: &Environment,
        level: impl Fn(&str) -> String,
        file: Option<File>,
    ) -> Result<Self> {
        let (configuration, settings, fernet) = Self::read(environment)?;
        let form = LogForm { is_json: settings.logging.json_logs, file };
        start_logging(&level(&settings.logging.logging_level), form)?;
        for warning in configuration.warnings() {
            tracing::warn!("{warning}");
        }
        Ok(Self::of(configuration, settings, fernet, environment))
    }

    fn read(environment: &Environment) -> Result<(Configuration, Settings, Fernet)> {
        let configuration = Configuration::load(environment)?;
        let settings = Settings::load(&configuration)?;
        let keys = settings.core.fernet_key.as_ref().map_or("", |keys| keys.expose());
        let fernet = Fernet::new(keys)?;
        Ok((configuration, settings, fernet))
    }

    /// The same with a configuration that was added to meanwhile.
    pub(crate) fn read_anew(self) -> Result<Self> {
        let (configuration, settings, fernet) = Self::read(&self.environment)?;
        Ok(Self::of(configuration, settings, fernet, &self.environment))
    }

    /// For whoever has stored secrets: says if they are stored as they are.
    pub(crate) fn warn_of_plain_text(&self, secrets: &str) {
        if !self.fernet.is_encrypting() {
            tracing::warn!(
                "{secrets} are stored as plain text: [core] fernet_key is not set; make a key with: openssl rand -base64 32"
            );
        }
    }

    fn of(
        configuration: Configuration,
        settings: Settings,
        fernet: Fernet,
        environment: &Environment,
    ) -> Self {
        Self {
            configuration,
            settings: Arc::new(settings),
            fernet: Arc::new(fernet),
            environment: environment.clone(),
            interpreter: OnceLock::new(),
        }
    }

    /// Connects to a database that exists.
    pub(crate) async fn connect(&self) -> Result<Db> {
        Ok(Db::connect(&self.database_options()).await?)
    }

    /// Connects to a database whose tables are to be made.
    pub(crate) async fn connect_to_create(&self) -> Result<Db> {
        Ok(Db::connect_to_create(&self.database_options()).await?)
    }

    /// Where the database is, without the password when printed.
    pub(crate) fn database_url(&self) -> Result<DatabaseUrl> {
        Ok(DatabaseUrl::parse(self.settings.database.sql_alchemy_conn.expose()).map_err(ConnectError::Url)?)
    }

    /// What to tell and what to do if everybody on this host can read the database, which holds secrets.
    pub(crate) fn database_open_to_all(&self) -> Option<(String, String)> {
        let files = sqlite_files::readable_by_all(&self.database_url().ok()?);
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        (!files.is_empty()).then(|| {
            let told = "every user of this host can read the database, with passwords and XComs in it";
            (told.to_owned(), format!("chmod 600 {}", files.join(" ")))
        })
    }

    pub(crate) fn database_options(&self) -> Options {
        let database = &self.settings.database;
        Options {
            url: database.sql_alchemy_conn.expose().to_owned(),
            schema: database.sql_alchemy_schema.clone(),
            pool_enabled: database.sql_alchemy_pool_enabled,
            pool_size: database.sql_alchemy_pool_size,
            max_overflow: database.sql_alchemy_max_overflow,
            recycle: database.pool_recycle(),
            pre_ping: database.sql_alchemy_pool_pre_ping,
            max_attempts: database.max_db_retries,
            statement_cache: self.settings.ferroflow.database_statement_cache,
            row_locks: self.settings.scheduler.use_row_level_locking,
        }
    }

    /// The Python that runs user code.
    pub(crate) fn interpreter(&self) -> Result<&Interpreter> {
        if let Some(found) = self.interpreter.get() {
            return Ok(found);
        }
        let found = Interpreter::find(Places {
            setting: self.settings.ferroflow.python.as_deref(),
            virtual_env: self.environment.var("VIRTUAL_ENV"),
            search_path: self.environment.var("PATH"),
            airflow_home: Path::new(self.configuration.airflow_home()),
        })?;
        Ok(self.interpreter.get_or_init(|| found))
    }

    /// What the process was started with.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Where this process runs, as the system calls it, and as whom.
    pub(crate) fn host(&self) -> Host {
        Host::of(&self.environment)
    }

    /// The same, under the name that rows have for it: for components, since the network or Python may be asked.
    pub(crate) fn host_of_rows(&self) -> Result<Host> {
        let function = &self.settings.core.hostname_callable;
        let Host { name, user } = self.host();
        Ok(Host { name: host_name::of(function, name, || Ok(self.interpreter()?.path.as_path()))?, user })
    }

    /// A Python process of this command's own, to ask user code.
    pub(crate) async fn start_python(&self) -> Result<ForkServer> {
        let options = ForkServerOptions::new(&self.interpreter()?.path);
        Ok(ForkServer::start(ForkServerOptions { purpose: Purpose::Answers, ..options }).await?)
    }

    /// What parses DAG files, on this database and host.
    pub(crate) fn parts(&self, db: &Db, host: Host) -> Result<Parts> {
        Ok(Parts {
            db: db.clone(),
            environment: self.environment.clone(),
            settings: Arc::clone(&self.settings),
            fernet: Arc::clone(&self.fernet),
            python: self.interpreter()?.path.clone(),
            host,
        })
    }

    /// Sends metrics from now on, if the configuration says so, and keeps them for Prometheus if they are shown.
    pub(crate) fn send_metrics(&self, is_shown: bool) -> Result<Installed> {
        let from = &self.settings.metrics;
        let settings = MetricsSettings {
            statsd_on: from.statsd_on,
            host: from.statsd_host.clone(),
            port: from.statsd_port,
            ipv6: from.statsd_ipv6,
            prefix: from.statsd_prefix.clone(),
            allow_list: from.metrics_allow_list.clone(),
            block_list: from.metrics_block_list.clone(),
            legacy_names_on: from.legacy_names_on,
            influxdb_enabled: from.statsd_influxdb_enabled,
            disabled_tags: from.statsd_disabled_tags.clone(),
            datadog_enabled: from.statsd_datadog_enabled,
            datadog_tags: from.statsd_datadog_tags.clone(),
            datadog_metrics_tags: from.statsd_datadog_metrics_tags,
            stat_name_handler: from.stat_name_handler.clone(),
            custom_client: from.statsd_custom_client_path.clone(),
            otel_on: from.otel_on,
            otel: self.otel_settings()?,
        };
        Ok(metrics::install(settings, is_shown)?)
    }

    /// Standard environment variables go before `[metrics]`, as in Airflow.
    fn otel_settings(&self) -> Result<OtelSettings> {
        let from = &self.settings.metrics;
        if !from.otel_on {
            return Ok(OtelSettings::default());
        }
        let set = |name: &str| self.environment.var(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let either = |name: &str, other: &str| set(name).or_else(|| set(other));
        let interval = match set("OTEL_METRIC_EXPORT_INTERVAL") {
            None => from.otel_interval_milliseconds,
            Some(text) => {
                let milliseconds: Option<f64> = text.trim().parse().ok();
                let interval = milliseconds.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
                Some(interval.with_context(|| {
                    format!("OTEL_METRIC_EXPORT_INTERVAL: {text:?} is not a number of milliseconds")
                })?)
            }
        };
        Ok(OtelSettings {
            prefix: from.otel_prefix.clone(),
            host: from.otel_host.clone(),
            port: from.otel_port,
            is_secure: from.otel_ssl_active.unwrap_or(false),
            interval,
            service: set("OTEL_SERVICE_NAME").or_else(|| from.otel_service.clone()),
            base_endpoint: set("OTEL_EXPORTER_OTLP_ENDPOINT"),
            metrics_endpoint: set("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"),
            protocol: either("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"),
        })
    }

    /// What a new database is made with.
    pub(crate) fn creation(&self) -> Result<Creation> {
        Ok(Creation {
            id_collation: self.settings.database.sql_engine_collation_for_ids.clone(),
            default_pool_slots: self.settings.core.default_pool_task_slot_count,
            log_templates: self.log_templates()?,
            now: clock::now(),
        })
    }

    fn log_templates(&self) -> Result<LogTemplates> {
        let filename = self.configuration.require("logging", "log_filename_template")?;
        let elasticsearch_id = self.configuration.require("elasticsearch", "log_id_template")?;
        let default = |section, key| self.configuration.default_value(section, key);
        Ok(LogTemplates {
            is_default: default("logging", "log_filename_template").as_ref() == Some(&filename.text)
                && default("elasticsearch", "log_id_template").as_ref() == Some(&elasticsearch_id.text),
            superseded: filename
                .replaced
                .map(|filename| LogTemplate { filename, elasticsearch_id: elasticsearch_id.text.clone() }),
            current: LogTemplate { filename: filename.text, elasticsearch_id: elasticsearch_id.text },
        })
    }
}

/// Cancels `stop` at Ctrl-C or SIGTERM. SIGUSR2, which makes a scheduler tell what it does, is ignored.
pub(crate) fn stop_on_signals(stop: &CancellationToken) -> Result<()> {
    stop_and_hurry_on_signals(stop, &CancellationToken::new(), || {})
}

/// The same; cancels `hurry` when that is said once more, and tells on SIGUSR2.
pub(crate) fn stop_and_hurry_on_signals(
    stop: &CancellationToken,
    hurry: &CancellationToken,
    tell: impl Fn() + Send + 'static,
) -> Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut debug = signal(SignalKind::user_defined2())?;
    let (stop, hurry) = (stop.clone(), hurry.clone());
    tokio::spawn(async move {
        for token in [stop, hurry] {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => break,
                    _ = terminate.recv() => break,
                    _ = debug.recv() => tell(),
                }
            }
            tracing::info!("stopping");
            token.cancel();
        }
    });
    Ok(())
}

/// How long connections are waited for at the end of a component: a service manager has no more patience.
const LAST_CONNECTIONS: Duration = Duration::from_secs(5);

/// Closes the database at the end of a component. A connection that does not come back keeps nobody from ending.
pub(crate) async fn close(db: &Db) {
    if tokio::time::timeout(LAST_CONNECTIONS, db.close()).await.is_err() {
        tracing::warn!("connections to the database are still in use; they are cut off");
    }
}

/// Runs a command's asynchronous part that has much to do at a time.
pub(crate) fn block_on_threads<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    run_on(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?, work)
}

/// Runs a command's asynchronous part.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    run_on(tokio::runtime::Builder::new_current_thread().enable_all().build()?, work)
}

/// How long threads are waited for that block when the work is done.
const LAST_THREADS: Duration = Duration::from_secs(1);

fn run_on<T>(runtime: Runtime, work: impl Future<Output = Result<T>>) -> Result<T> {
    let outcome = runtime.block_on(work);
    // Dropping it would wait for threads without end: one may list files of a file system that does not answer.
    runtime.shutdown_timeout(LAST_THREADS);
    outcome
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_that_hangs_keeps_no_command_from_ending() {
        for is_on_threads in [true, false] {
            let (answers_one_day, hangs) = mpsc::channel::<()>();
            let (ended, has_ended) = mpsc::channel();
            std::thread::spawn(move || {
                let work = async {
                    drop(tokio::task::spawn_blocking(move || hangs.recv()));
                    Ok(())
                };
                let outcome = if is_on_threads { block_on_threads(work) } else { block_on(work) };
                ended.send(outcome.is_ok())
            });
            assert!(has_ended.recv_timeout(Duration::from_mins(1)).expect("it ends"));
            assert!(answers_one_day.send(()).is_ok(), "the thread hangs still");
        }
    }
}
