//! All tables of options, read at once.

use crate::configuration::Configuration;
use crate::error::Invalid;
use crate::rule::Reader;
use crate::sections::{
    Api, ApiAuth, Callbacks, Celery, ConnectionTest, Core, DagProcessor, Database, ExecutionApi, Ferroflow,
    Logging, Metrics, Operators, Scheduler, Secrets, StateStore, Traces, Triggerer, Workers,
};

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
}
