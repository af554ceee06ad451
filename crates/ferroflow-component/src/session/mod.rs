//! What every process begins with: settings that are right, and what follows from them.

mod host_name;
mod metrics;

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::log_template::{LogTemplate, LogTemplates};
use ferroflow_db::schema::Creation;
use ferroflow_db::{ConnectError, DatabaseUrl, Db, Options, sqlite_files};
use ferroflow_execution::{Host, Service};
use ferroflow_python::interpreter::{Interpreter, NoInterpreter, Places};
use ferroflow_python::{ForkServer, ForkServerOptions, Purpose};
use ferroflow_telemetry::{LogForm, clock, start_logging};

use crate::{Error, runtime};

/// The configuration of this process, checked.
#[derive(Clone)]
pub struct Session {
    pub configuration: Configuration,
    pub settings: Arc<Settings>,
    pub fernet: Arc<Fernet>,
    environment: Environment,
    /// Which Python there is, once it was found: looking for it starts it.
    interpreter: OnceLock<Interpreter>,
}

impl Session {
    /// Reads the configuration. A wrong value anywhere in it is refused here, before anything is done.
    pub fn start(environment: &Environment) -> Result<Self, Error> {
        Self::start_logging(environment, str::to_owned, None)
    }

    /// The same, with everything that can be logged if so wished.
    pub fn start_with(environment: &Environment, verbose: bool) -> Result<Self, Error> {
        Self::start_to(environment, verbose, None)
    }

    /// The same, with logs that go into a file.
    pub fn start_to(environment: &Environment, verbose: bool, file: Option<File>) -> Result<Self, Error> {
        Self::start_logging(environment, |level| if verbose { "DEBUG" } else { level }.to_owned(), file)
    }

    /// The same for a command that starts much to answer a question: without a wish for more or less, only what is
    /// wrong is logged.
    pub fn start_quietly(environment: &Environment) -> Result<Self, Error> {
        let quiet = |level: &str| if level == "INFO" { "WARNING" } else { level }.to_owned();
        Self::start_logging(environment, quiet, None)
    }

    /// The same for a command that shows the configuration itself.
    pub fn start_without_warnings(environment: &Environment) -> Result<Self, Error> {
        let (configuration, settings, fernet) = Self::read(environment)?;
        let form = LogForm { is_json: settings.logging.json_logs, file: None };
        start_logging("ERROR", form)?;
        Ok(Self::of(configuration, settings, fernet, environment))
    }

    /// The same for a command that shows something else on the terminal: what is logged goes into a file.
    pub fn start_with_log_file(environment: &Environment, verbose: bool, file: &Path) -> Result<Self, Error> {
        let file = fs_err::File::options().create(true).append(true).open(file).map_err(Error::LogFile)?;
        Self::start_to(environment, verbose, Some(file.into_parts().0))
    }

    fn start_logging(
        environment: &Environment,
        level: impl Fn(&str) -> String,
        file: Option<File>,
    ) -> Result<Self, Error> {
        let (configuration, settings, fernet) = Self::read(environment)?;
        let form = LogForm { is_json: settings.logging.json_logs, file };
        start_logging(&level(&settings.logging.logging_level), form)?;
        for warning in configuration.warnings() {
            tracing::warn!("{warning}");
        }
        Ok(Self::of(configuration, settings, fernet, environment))
    }

    fn read(environment: &Environment) -> Result<(Configuration, Settings, Fernet), Error> {
        let configuration = Configuration::load(environment)?;
        let settings = Settings::load(&configuration)?;
        let keys = settings.core.fernet_key.as_ref().map_or("", |keys| keys.expose());
        let fernet = Fernet::new(keys)?;
        Ok((configuration, settings, fernet))
    }

    /// The same with a configuration that was added to meanwhile.
    pub fn read_anew(self) -> Result<Self, Error> {
        let (configuration, settings, fernet) = Self::read(&self.environment)?;
        Ok(Self::of(configuration, settings, fernet, &self.environment))
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

    /// What the process was started with.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Connects to a database that exists.
    pub async fn connect(&self) -> Result<Db, ConnectError> {
        Db::connect(&self.database_options()).await
    }

    /// Connects to a database whose tables are to be made.
    pub async fn connect_to_create(&self) -> Result<Db, ConnectError> {
        Db::connect_to_create(&self.database_options()).await
    }

    /// Where the database is, without the password when printed.
    pub fn database_url(&self) -> Result<DatabaseUrl, ConnectError> {
        DatabaseUrl::parse(self.settings.database.sql_alchemy_conn.expose()).map_err(ConnectError::Url)
    }

    fn database_options(&self) -> Options {
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

    /// A warning and what to do about it, if every user of this host can read the database, which holds secrets.
    pub fn database_open_to_all(&self) -> Option<(String, String)> {
        let files = sqlite_files::readable_by_all(&self.database_url().ok()?);
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        (!files.is_empty()).then(|| {
            let warning = "every user of this host can read the database, with passwords and XComs in it";
            (warning.to_owned(), format!("chmod 600 {}", files.join(" ")))
        })
    }

    /// For a command that has stored secrets: warns if they are stored as they are.
    pub fn warn_of_plain_text(&self, secrets: &str) {
        if !self.fernet.is_encrypting() {
            tracing::warn!(
                "{secrets} are stored as plain text: [core] fernet_key is not set; make a key with: openssl rand -base64 32"
            );
        }
    }

    /// The Python that runs user code.
    pub fn interpreter(&self) -> Result<&Interpreter, NoInterpreter> {
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

    /// A Python process of this command's own, to ask user code.
    pub async fn start_python(&self) -> Result<ForkServer, Error> {
        let options = ForkServerOptions::new(&self.interpreter()?.path);
        Ok(ForkServer::start(ForkServerOptions { purpose: Purpose::Answers, ..options }).await?)
    }

    /// Where this process runs, as the system calls it, and as whom.
    pub fn host(&self) -> Host {
        Host::of(&self.environment)
    }

    /// The same, under the name that rows have for it: for components, since the network or Python may be asked.
    pub fn host_of_rows(&self) -> Result<Host, Error> {
        let function = &self.settings.core.hostname_callable;
        let Host { name, user } = self.host();
        Ok(Host { name: host_name::of(function, name, || Ok(self.interpreter()?.path.as_path()))?, user })
    }

    /// What answers user code as far as that needs no Python.
    pub fn service(&self, db: &Db) -> Service {
        runtime::service(db, &self.settings, &self.fernet, self.environment.clone(), None)
    }

    /// What a new database is made with.
    pub fn creation(&self) -> Result<Creation, Error> {
        Ok(Creation {
            id_collation: self.settings.database.sql_engine_collation_for_ids.clone(),
            default_pool_slots: self.settings.core.default_pool_task_slot_count,
            log_templates: self.log_templates()?,
            now: clock::now(),
        })
    }

    fn log_templates(&self) -> Result<LogTemplates, Error> {
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
