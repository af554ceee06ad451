//! A bundle: where it is, when it is brought up to date, and which files are in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ferroflow_db::dag_bundle::{self, DagBundle};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, import_error};
use ferroflow_model::Json;
use ferroflow_python::bundles::{BundleState, ConfiguredBundle};
use ferroflow_telemetry::clock::{self, signed};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::OnceCell;

use crate::Error;
use crate::context::Context;
use crate::files::{Lister, Listing};

/// A configured bundle. Clones share what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) name: Arc<str>,
    configured: Arc<ConfiguredBundle>,
    /// What its class says of it, once it has said so and the database has it.
    registered: Arc<OnceCell<Registered>>,
    lister: Arc<Mutex<Lister>>,
    /// Whether the database does not know yet which version it was brought to.
    is_unnoted: Arc<AtomicBool>,
    /// What was wrong with its files at the last listing: it is told once.
    problems: Arc<Mutex<BTreeSet<String>>>,
}

#[derive(Clone, Copy, Debug)]
struct Registered {
    refresh_interval: SignedDuration,
    supports_versioning: bool,
}

/// Why a bundle is looked at. The greater one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Occasion {
    /// It may be due.
    Routine,
    /// Its files have changed under our eyes: it is listed, and not refreshed.
    FilesChanged,
    /// A user asked for one of its files.
    Requested,
}

/// What came of looking at a bundle.
#[derive(Debug)]
pub(crate) enum Refreshed {
    /// It was not due, or is the same version as before.
    Unchanged(BundleState),
    /// These files are in it, as was looked from this time on.
    Listed(BundleState, Listing, Timestamp),
}

impl Bundle {
    /// Nothing is asked or written yet.
    pub(crate) fn new(cx: &Context, configured: ConfiguredBundle) -> Result<Self, Error> {
        Ok(Self {
            name: configured.name.as_str().into(),
            configured: Arc::new(configured),
            registered: Arc::default(),
            lister: Arc::new(Mutex::new(Lister::new(cx.listing_rules()?))),
            is_unnoted: Arc::default(),
            problems: Arc::default(),
        })
    }

    /// Notes the bundle in the database, unless that was done. Its class may not be able to say what it is, or hang.
    pub(crate) async fn register(&self, cx: &Context) -> Result<(), Error> {
        self.registered(cx).await.map(drop)
    }

    async fn registered(&self, cx: &Context) -> Result<Registered, Error> {
        self.registered.get_or_try_init(|| register(cx, &self.configured)).await.copied()
    }

    /// Whether changes of its files are to be watched for: one whose class fetches them changes only then.
    pub(crate) fn watched_path(&self) -> Option<&Path> {
        self.configured.local_path.as_deref()
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
        let (name, registered) = (&*self.name, self.registered(cx).await?);
        let local_path = self.configured.local_path.as_ref();
        let current = match (local_path, before) {
            (Some(path), _) => BundleState { path: path.clone(), version: None, version_data: None },
            (None, Some(before)) => before.clone(),
            (None, None) => cx.bundles.initialize(name).await?,
        };
        let mut found = current.clone();
        let mut refreshed = None;
        if occasion != Occasion::FilesChanged || before.is_none() {
            let row = cx.db.read(|tx| async move { dag_bundle::find(tx, name).await }.scope_boxed()).await?;
            let Some(row) = row else { return Err(Error::NoSuchBundle(name.to_owned())) };
            // What cannot be read says nothing against it.
            let is_due = row.is_none_or(|row| registered.is_due(&row, &current, now));
            if before.is_some() && occasion == Occasion::Routine && !is_due {
                return Ok(Refreshed::Unchanged(current));
            }
            if local_path.is_none() {
                found = cx.bundles.refresh(name).await?;
            }
            let is_new =
                !registered.supports_versioning || before.is_none() || found.version != current.version;
            let version = found.version.clone().filter(|_| registered.supports_versioning);
            if !is_new {
                let version = version.filter(|_| self.is_unnoted.load(Ordering::Relaxed));
                self.note_refresh(cx, version.as_deref(), now).await;
                return Ok(Refreshed::Unchanged(found));
            }
            refreshed = Some(version);
        }
        let since = clock::now();
        let listing = self.list(found.path.clone(), now).await?;
        // Not before: what cannot be listed is due as it was.
        if let Some(version) = refreshed {
            self.note_refresh(cx, version.as_deref(), now).await;
        }
        Ok(Refreshed::Listed(found, listing, since))
    }

    /// The files are where they are, whatever becomes of the note: without it the bundle is due again.
    async fn note_refresh(&self, cx: &Context, version: Option<&str>, now: Timestamp) {
        let name = &*self.name;
        let noted = cx.db.transact(|tx| {
            async move { dag_bundle::set_refreshed(tx, name, version, now).await }.scope_boxed()
        });
        match noted.await {
            Ok(()) if version.is_some() => self.is_unnoted.store(false, Ordering::Relaxed),
            Ok(()) => {}
            Err(error) => {
                self.is_unnoted.fetch_or(version.is_some(), Ordering::Relaxed);
                let reason = ferroflow_telemetry::chain(&error);
                tracing::error!(
                    bundle = name,
                    "a bundle was brought up to date, and that cannot be noted: {reason}"
                );
            }
        }
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

impl Registered {
    fn is_due(&self, row: &DagBundle, current: &BundleState, now: Timestamp) -> bool {
        // One that is further away than it can be is that of a clock that was wrong.
        let rested =
            row.last_refreshed.is_none_or(|last| now.duration_since(last).abs() >= self.refresh_interval);
        // Another processor may have seen a newer version.
        rested || (self.supports_versioning && row.version != current.version)
    }
}

async fn register(cx: &Context, configured: &ConfiguredBundle) -> Result<Registered, Error> {
    let kwargs = configured.kwargs.value().unwrap_or_default();
    let (registered, url, params) =
        if configured.local_path.is_some() && kwargs.get("view_url_template").is_none() {
            let interval = kwargs.get("refresh_interval").and_then(serde_json::Value::as_i64);
            let default = signed(cx.settings.dag_processor.refresh_interval);
            let refresh_interval = interval.map_or(default, SignedDuration::from_secs);
            let registered = Registered { refresh_interval, supports_versioning: false };
            (registered, None, Json::from(serde_json::json!({})))
        } else {
            let described = cx.bundles.describe(&configured.name).await?;
            let registered = Registered {
                refresh_interval: signed(described.refresh_interval),
                supports_versioning: described.supports_versioning,
            };
            (registered, described.signed_url_template, described.template_params)
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
        let team = team.unwrap_or_default().to_owned();
        return Err(Error::NoSuchTeam { bundle: configured.name.clone(), team });
    }
    tracing::info!(bundle = name, every = %registered.refresh_interval, "looking for new files in a bundle");
    Ok(registered)
}

/// Makes inactive what is not configured any more, and removes its import errors. Returns whether that is all: a bundle whose
/// row is in the way is left for another time.
pub(crate) async fn deactivate_others(cx: &Context, configured: &BTreeSet<String>) -> Result<bool, Error> {
    let known = cx.db.read(|tx| dag_bundle::list(tx).scope_boxed()).await?;
    let mut is_all = true;
    for bundle in known.iter().filter(|bundle| bundle.active && !configured.contains(&bundle.name)) {
        let bundle = bundle.name.as_str();
        let deactivated = cx.db.transact(|tx| deactivate(tx, bundle).scope_boxed()).await;
        match deactivated {
            Ok(true) => {
                tracing::warn!(bundle, "a bundle is not configured any more: its DAGs will be marked stale");
            }
            Ok(false) => {}
            Err(error) if error.is_about_rows() => {
                let reason = ferroflow_telemetry::chain(&error);
                tracing::warn!(bundle, "a bundle cannot be made inactive now: {reason}");
                is_all = false;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(is_all)
}

async fn deactivate(tx: &mut Tx, bundle: &str) -> Result<bool, DbError> {
    let was_active = dag_bundle::deactivate(tx, bundle).await?;
    if was_active {
        import_error::delete_of_bundle(tx, bundle).await?;
    }
    Ok(was_active)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_that_was_refreshed_in_a_far_future_is_due() {
        let registered =
            Registered { refresh_interval: SignedDuration::from_secs(300), supports_versioning: false };
        let current = BundleState { path: PathBuf::new(), version: None, version_data: None };
        let at = |second| Timestamp::from_second(second).ok();
        let is_due = |last_refreshed| {
            let row = DagBundle {
                name: "dags".to_owned(),
                active: true,
                version: None,
                last_refreshed,
                signed_url_template: None,
                template_params: None,
            };
            registered.is_due(&row, &current, at(10_000).unwrap())
        };
        assert_eq!([9_701, 10_000, 10_299].map(|last| is_due(at(last))), [false; 3]);
        assert_eq!([9_700, 10_300, 4_000_000_000].map(|last| is_due(at(last))), [true; 3]);
        assert!(is_due(None));
    }
}
