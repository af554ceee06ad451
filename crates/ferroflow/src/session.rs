//! What every command that works on the database begins with: settings that are right, and a connection.

use anyhow::Result;
use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::log_template::{LogTemplate, LogTemplates};
use ferroflow_db::schema::Creation;
use ferroflow_db::{ConnectError, DatabaseUrl, Db, Options};
use ferroflow_telemetry::{clock, log_to_stderr};

/// The configuration of this process, checked.
pub(crate) struct Session {
    pub(crate) configuration: Configuration,
    pub(crate) settings: Settings,
    pub(crate) fernet: Fernet,
}

impl Session {
    /// Reads the configuration. A wrong value anywhere in it is refused here, before anything is done.
    pub(crate) fn start(environment: &Environment) -> Result<Self> {
        let configuration = Configuration::load(environment)?;
        let settings = Settings::load(&configuration)?;
        let keys = settings.core.fernet_key.as_ref().map_or("", |keys| keys.expose());
        let fernet = Fernet::new(keys)?;
        log_to_stderr(&settings.logging.logging_level)?;
        for warning in configuration.warnings() {
            tracing::warn!("{warning}");
        }
        Ok(Self { configuration, settings, fernet })
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

/// Runs a command's asynchronous part.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
