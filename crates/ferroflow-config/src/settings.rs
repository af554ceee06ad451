//! All tables of options, read at once.

use std::time::Duration;

use crate::configuration::Configuration;
use crate::error::Invalid;
use crate::rule::Reader;
use crate::sections::{
    Api, ApiAuth, Callbacks, Celery, ConnectionTest, Core, DagProcessor, Database, ExecutionApi, Ferroflow,
    Logging, Metrics, Operators, Scheduler, Secrets, StateStore, Traces, Triggerer, Workers,
};

/// Without a threshold of its own, a component is alive as long as it misses no second heartbeat.
const GRACE: f64 = 2.1;

/// Makes the struct of all sections, and the function that reads them.
macro_rules! settings {
    ($( $field:ident: $section:ident, )*) => {
        /// The options that ferroflow obeys, checked. One field per section.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Settings {
            $(
                #[doc = concat!("`[", stringify!($field), "]`")]
                pub $field: $section,
            )*
        }

        fn read(reader: &mut Reader<'_>) -> Option<Settings> {
            $( let $field = $section::read(reader); )*
            Some(Settings { $( $field: $field?, )* })
        }
    };
}

settings! {
    core: Core,
    database: Database,
    logging: Logging,
    metrics: Metrics,
    traces: Traces,
    secrets: Secrets,
    api: Api,
    api_auth: ApiAuth,
    execution_api: ExecutionApi,
    workers: Workers,
    operators: Operators,
    scheduler: Scheduler,
    connection_test: ConnectionTest,
    triggerer: Triggerer,
    dag_processor: DagProcessor,
    state_store: StateStore,
    callbacks: Callbacks,
    celery: Celery,
    ferroflow: Ferroflow,
}

impl Settings {
    /// Reads and checks every option; runs the commands that some of them may come from.
    ///
    /// Wrong values are reported all at once, one line each. So is a file that `AIRFLOW_CONFIG` names and that is
    /// not there: a typo in it must not lead to a database being made elsewhere.
    pub fn load(configuration: &Configuration) -> Result<Self, Invalid> {
        let mut reader = Reader::new(configuration);
        if let Some(path) = configuration.missing_file() {
            reader.problems.push(format!(
                "AIRFLOW_CONFIG names {}, which does not exist; make the file, correct the variable, or unset it",
                path.display()
            ));
        }
        match read(&mut reader) {
            Some(settings) if reader.problems.is_empty() => Ok(settings),
            _ => Err(Invalid { problems: reader.problems }),
        }
    }

    /// For how long a component with such a row in `job` may not show that it lives before it is taken for dead.
    pub fn health_threshold(&self, job_type: Option<&str>) -> Duration {
        match job_type {
            Some("SchedulerJob") => self.scheduler.scheduler_health_check_threshold,
            Some("TriggererJob") => self.triggerer.triggerer_health_check_threshold,
            Some("DagProcessorJob") => self.dag_processor.health_check_threshold,
            _ => self.scheduler.job_heartbeat_sec.mul_f64(GRACE),
        }
    }
}
