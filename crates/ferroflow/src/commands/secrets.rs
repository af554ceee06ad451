//! Variables and connections, wherever they come from.

use anyhow::{Context as _, Result, bail};
use clap::Args;
use ferroflow_component::Runtime;
use ferroflow_db::Db;
use ferroflow_execution::Service;

use crate::output::OutputArgs;
use crate::session::Session;

/// What a list of them shows.
#[derive(Args, Debug)]
pub(crate) struct ListingArgs {
    /// Show the values, too
    #[arg(long)]
    pub(crate) show_values: bool,
    /// With --show-values: show *** in the place of secrets
    #[arg(long)]
    pub(crate) hide_sensitive: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

impl ListingArgs {
    /// Refuses to hide what is not shown.
    pub(crate) fn check(&self) -> Result<()> {
        if self.hide_sensitive && !self.show_values {
            bail!("--hide-sensitive can only be used with --show-values");
        }
        Ok(())
    }
}

/// Who knows them: the environment and the database, and the backend of `[secrets] backend` if there is one, for which
/// Python is started.
pub(crate) struct Keeper {
    service: Service,
    with_backend: Option<Runtime>,
}

impl Keeper {
    pub(crate) async fn open(session: &Session, db: &Db) -> Result<Self> {
        if session.settings.secrets.backend.is_some() {
            let runtime = Runtime::new(session, db.clone(), session.host(), Vec::new())?;
            runtime.python_ready().await.context("the secrets backend cannot be asked")?;
            return Ok(Self { service: runtime.service.clone(), with_backend: Some(runtime) });
        }
        Ok(Self::without_backend(session, db))
    }

    /// The same, where nobody will ask for what only a backend has.
    pub(crate) fn without_backend(session: &Session, db: &Db) -> Self {
        Self { service: session.service(db), with_backend: None }
    }

    pub(crate) fn service(&self) -> &Service {
        &self.service
    }

    pub(crate) async fn close(self) {
        if let Some(runtime) = self.with_backend {
            runtime.python.stop().await;
        }
    }
}
