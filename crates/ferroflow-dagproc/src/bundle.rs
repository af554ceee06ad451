//! A bundle: where it is, when it is brought up to date, and which files are in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ferroflow_db::dag_bundle::DagBundle;
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, dag_bundle, import_error};
use ferroflow_model::Json;
use ferroflow_python::bundles::{BundleState, ConfiguredBundle};
use ferroflow_telemetry::clock::signed;
use jiff::{SignedDuration, Timestamp};

use crate::Error;
use crate::context::Context;
use crate::files::{Lister, Listing};

/// A configured bundle.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) name: Arc<str>,
    /// The folder, if refreshing the bundle is no more than listing it.
    local_path: Option<PathBuf>,
    refresh_interval: SignedDuration,
    supports_versioning: bool,
    lister: Arc<Mutex<Lister>>,
    /// What was wrong with its files at the last listing: it is told once.
    problems: Arc<Mutex<BTreeSet<String>>>,
}

/// Why a bundle is looked at. The greater one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Occasion {
    /// It may be due.
    Routine,
    /// Its files have changed under our eyes: it is listed, and not refreshed.
    FilesChanged,
    /// Somebody asked for one of its files.
    Requested,
}

/// What came of looking at a bundle.
#[derive(Debug)]
pub(crate) enum Refreshed {
    /// It was not due, or is the same version as before.
    Unchanged(BundleState),
    /// These files are in it.
    Listed(BundleState, Listing),
}

impl Bundle {
    /// Notes a configured bundle in the database. `None` if its class cannot say what it is: the others are
    /// served without it.
    pub(crate) async fn register(cx: &Context, configured: ConfiguredBundle) -> Result<Option<Self>, Error> {
        let kwargs = configured.kwargs.value().unwrap_or_default();
        let (refresh_interval, supports_versioning, url, params) =
            if configured.local_path.is_some() && kwargs.get("view_url_template").is_none() {
                let interval = kwargs.get("refresh_interval").and_then(serde_json::Value::as_i64);
                let default = signed(cx.settings.dag_processor.refresh_interval);
                let interval = interval.map_or(default, SignedDuration::from_secs);
                (interval, false, None, Json::from(serde_json::json!({})))
            } else {
                match cx.bundles.describe(&configured.name).await {
                    Ok(described) => (
                        signed(described.refresh_interval),
                        described.supports_versioning,
                        described.signed_url_template,
                        described.template_params,
                    ),
                    Err(error) => {
                        tracing::error!("{}", ferroflow_telemetry::chain(&error));
                        return Ok(None);
                    }
                }
            };
        let (name, team) = (configured.name.as_str(), configured.team_name.as_deref());
        let (url, params) = (url.as_deref(), &params);
        let has_team = cx
            .db
            .transact(|tx| {
                async move {
                    dag_bundle::activate(tx, name, url, params).await?;
                    dag_bundle::set_team(tx, name, team).await
                }
                .scope_boxed()
            })
            .await?;
        if !has_team {
            let team = team.unwrap_or_default();
            return Err(Error::NoSuchTeam { bundle: configured.name, team: team.to_owned() });
        }
        tracing::info!(bundle = name, every = %refresh_interval, "looking for new files in a bundle");
        Ok(Some(Self {
            name: configured.name.into(),
            local_path: configured.local_path,
            refresh_interval,
            supports_versioning,
            lister: Arc::new(Mutex::new(Lister::new(cx.listing_rules()?))),
            problems: Arc::default(),
        }))
    }

    /// Whether changes of its files are to be watched for: one whose class fetches them changes only then.
    pub(crate) fn watched_path(&self) -> Option<&Path> {
        self.local_path.as_deref()
    }

    /// Brings the bundle up to date if that is due, and lists its files.
    /// `before` is what it was when this process last looked.
    pub(crate) async fn refresh(
        &self,
        cx: &Context,
        before: Option<&BundleState>,
        occasion: Occasion,
        now: Timestamp,
    ) -> Result<Refreshed, Error> {
        let name = &*self.name;
        let current = match (&self.local_path, before) {
            (Some(path), _) => BundleState { path: path.clone(), version: None, version_data: None },
            (None, Some(before)) => before.clone(),
            (None, None) => cx.bundles.initialize(name).await?,
        };
        let mut found = current.clone();
        if occasion != Occasion::FilesChanged || before.is_none() {
            let row = cx.db.read(|tx| async move { row(tx, name).await }.scope_boxed()).await?;
            let Some(row) = row else { return Err(Error::NoSuchBundle(name.to_owned())) };
            if before.is_some() && occasion == Occasion::Routine && !self.is_due(&row, &current, now) {
                return Ok(Refreshed::Unchanged(current));
            }
            if self.local_path.is_none() {
                found = cx.bundles.refresh(name).await?;
            }
            let is_new = !self.supports_versioning || before.is_none() || found.version != current.version;
            let version = found.version.as_deref().filter(|_| self.supports_versioning && is_new);
            cx.db
                .transact(|tx| {
                    async move { dag_bundle::set_refreshed(tx, name, version, now).await }.scope_boxed()
                })
                .await?;
            if !is_new {
                return Ok(Refreshed::Unchanged(found));
            }
        }
        let listing = self.list(found.path.clone(), now).await?;
        Ok(Refreshed::Listed(found, listing))
    }

    fn is_due(&self, row: &DagBundle, current: &BundleState, now: Timestamp) -> bool {
        let rested = row.last_refreshed.is_none_or(|last| now.duration_since(last) >= self.refresh_interval);
        // Another processor may have seen a newer version.
        rested || (self.supports_versioning && row.version != current.version)
    }

    async fn list(&self, path: PathBuf, now: Timestamp) -> Result<Listing, Error> {
        let lister = Arc::clone(&self.lister);
        let list = move || lister.lock().unwrap_or_else(PoisonError::into_inner).list(&path, now);
        let listing = tokio::task::spawn_blocking(list).await??;
        let problems: BTreeSet<String> =
            listing.problems.iter().map(|problem| ferroflow_telemetry::chain(problem)).collect();
        let mut known = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        for problem in problems.difference(&known) {
            tracing::warn!(bundle = &*self.name, "{problem}");
        }
        *known = problems;
        Ok(listing)
    }
}

/// Makes inactive what is not configured any more, and removes its import errors.
pub(crate) async fn deactivate_others(cx: &Context, configured: &BTreeSet<String>) -> Result<(), Error> {
    let gone = cx
        .db
        .transact(|tx| {
            async move {
                let mut gone = Vec::new();
                for bundle in dag_bundle::list(tx).await? {
                    if !configured.contains(&bundle.name) && dag_bundle::deactivate(tx, &bundle.name).await? {
                        import_error::delete_of_bundle(tx, &bundle.name).await?;
                        gone.push(bundle.name);
                    }
                }
                Ok(gone)
            }
            .scope_boxed()
        })
        .await?;
    for bundle in gone {
        tracing::warn!(bundle, "a bundle is not configured any more: its DAGs will be marked stale");
    }
    Ok(())
}

async fn row(tx: &mut Tx, name: &str) -> Result<Option<DagBundle>, DbError> {
    Ok(dag_bundle::list(tx).await?.into_iter().find(|bundle| bundle.name == name))
}
