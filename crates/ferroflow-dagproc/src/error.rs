//! What can go wrong with the processor itself. What goes wrong with a DAG file is a row in `import_error`.

use ferroflow_python::Failure;
use ferroflow_python::bundles::BundleError;

use crate::files::ListingError;
use crate::store::StoreError;

/// What can go wrong with the processor itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the DAG processor could not be started")]
    NotStarted(#[source] Box<Error>),
    /// Its row in `job`.
    #[error(transparent)]
    Component(#[from] ferroflow_component::Error),
    /// The database.
    #[error("the metadata database")]
    Database(#[from] ferroflow_db::Error),
    /// Python could not be had.
    #[error("Python")]
    Python(#[from] ferroflow_python::Error),
    /// A process is stuck with the file, so that no other is given it.
    #[error("{0}")]
    StuckFile(Failure),
    /// A bundle's class.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The files of a bundle.
    #[error(transparent)]
    Listing(#[from] ListingError),
    /// `-B` names bundles that are not configured.
    #[error(
        "there is no DAG bundle named {names}; configured in [dag_processor] dag_bundle_config_list: {known}"
    )]
    UnknownBundles {
        /// What was named.
        names: String,
        /// What there is.
        known: String,
    },
    /// A result could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The row of a bundle is gone.
    #[error("the bundle {0} is not in the table dag_bundle; restart the DAG processor")]
    NoSuchBundle(String),
    /// A bundle belongs to a team that does not exist.
    #[error(
        "the bundle {bundle} belongs to the team {team}, which does not exist; run `airflow teams create {team}`"
    )]
    NoSuchTeam {
        /// The bundle.
        bundle: String,
        /// The team.
        team: String,
    },
    /// A setting has a value that means nothing.
    #[error("[{section}] {key} = {value}: it must be {wanted}")]
    Setting {
        /// The section.
        section: &'static str,
        /// The key.
        key: &'static str,
        /// What it says.
        value: String,
        /// What it may say.
        wanted: &'static str,
    },
    /// A part of the program failed.
    #[error("this is a bug in ferroflow: {0}")]
    Task(#[from] tokio::task::JoinError),
}

impl Error {
    /// Whether another transaction holds a row that was needed.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Database(error) | Self::Store(StoreError::Database(error)) => error.is_busy(),
            _ => false,
        }
    }

    pub(crate) fn setting(
        section: &'static str,
        key: &'static str,
        value: &str,
        wanted: &'static str,
    ) -> Self {
        Self::Setting { section, key, value: value.to_owned(), wanted }
    }
}
