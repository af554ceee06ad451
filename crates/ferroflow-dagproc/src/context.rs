//! What every part of the processor works with.

use std::error::Error as StdError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ferroflow_component::Runtime;
use ferroflow_config::Settings;
use ferroflow_db::Db;
use ferroflow_execution::wire::{Asker, Client, ParsingRequests};
use ferroflow_execution::{Host, InProcessApi, MaskRules, Masker, Service};
use ferroflow_model::file_queue::SortMode;
use ferroflow_python::bundles::{Bundles, ConfiguredBundle};
use ferroflow_python::extensions::{Discovery, Listeners};
use ferroflow_python::{ForkServer, ParseLimits, RunExtensions};
use ferroflow_telemetry::clock;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Mutex, OnceCell};

use crate::Error;
use crate::child_log::ChildLogs;
use crate::files::{Candidate, IgnoreSyntax, ListingRules, SafeMode};
use crate::store::StoreSettings;

/// How long a processor waits for a row that another transaction has locked before it does something else.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// What every part of the processor works with. One per process.
pub struct Context {
    pub(crate) db: Db,
    pub(crate) settings: Arc<Settings>,
    pub(crate) python: ForkServer,
    pub(crate) bundles: Bundles,
    configured: OnceCell<Vec<ConfiguredBundle>>,
    pub(crate) extensions: RunExtensions,
    pub(crate) listeners: Listeners,
    service: Service,
    pub(crate) logs: ChildLogs,
    pub(crate) store: StoreSettings,
    discovery: Arc<Discovery>,
    host: Host,
    hears_import_errors: Mutex<Hearing>,
    /// How many results of files wait for an answer of user code.
    waiting_for_python: AtomicUsize,
    /// Whether a DAG has become stale since what all of those have left was deleted.
    pub(crate) has_stale_dags_to_forget: AtomicBool,
    /// Learns the secrets that user code of DAG files is given.
    masker: Arc<Masker>,
}

/// Whether anybody listens to import errors.
#[derive(Debug, Default)]
enum Hearing {
    #[default]
    Unasked,
    Known(bool),
    /// They could not be loaded then.
    Failed(Timestamp),
}

impl Hearing {
    /// What is known. Listeners that cannot be loaded, or hang, are left alone for a while.
    fn answer(&self, now: Timestamp) -> Option<bool> {
        const REST: SignedDuration = SignedDuration::from_mins(5);
        match self {
            Self::Known(hears) => Some(*hears),
            Self::Failed(then) if now.duration_since(*then).abs() < REST => Some(false),
            Self::Failed(_) | Self::Unasked => None,
        }
    }
}

struct Waits<'a>(&'a AtomicUsize);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Context {
    /// Waits until Python has told which bundles are configured.
    pub async fn start(runtime: &Runtime) -> Result<Self, Error> {
        let cx = Self::new(runtime);
        cx.configured().await?;
        Ok(cx)
    }

    /// The same without waiting: what needs Python first waits for it.
    pub fn new(runtime: &Runtime) -> Self {
        let (settings, python) = (&runtime.settings, &runtime.python);
        let masker = Arc::new(Masker::new(MaskRules::of(settings)));
        let logging = &settings.logging;
        let logs = ChildLogs::new(
            logging.dag_processor_child_process_log_directory.clone(),
            &logging.dag_processor_log_target,
            Arc::clone(&masker),
        );
        Self {
            store: StoreSettings::new(settings, Arc::clone(&runtime.fernet)),
            service: runtime.service.clone(),
            extensions: runtime.extensions(),
            listeners: Listeners::new(python.clone()),
            discovery: Arc::new(Discovery::new(python.clone())),
            hears_import_errors: Mutex::default(),
            waiting_for_python: AtomicUsize::default(),
            has_stale_dags_to_forget: AtomicBool::default(),
            db: runtime.db.clone(),
            settings: Arc::clone(settings),
            python: python.clone(),
            bundles: Bundles::new(python.clone(), settings.ferroflow.bundle_timeout),
            configured: OnceCell::new(),
            logs,
            host: runtime.host.clone(),
            masker,
        }
    }

    /// The same for a processor that stays, and has other things to do than to wait for a locked row: it comes back to
    /// it. So does what answers user code, which waits as long as it takes all the same: no transaction waits, or
    /// locked rows would use up the connections.
    #[must_use]
    pub fn of_a_processor(self) -> Self {
        self.extensions.timetables.blame_classes();
        let db = self.db.with_lock_patience(LOCK_PATIENCE);
        Self { service: Service { db: db.clone(), ..self.service }, db, ..self }
    }

    /// The bundles that are configured. Python is asked once.
    pub(crate) async fn configured(&self) -> Result<&[ConfiguredBundle], Error> {
        let ask = async || {
            // Else what hinders Python is taken for a fault of the list.
            self.python.sdk_version().await?;
            Ok::<_, Error>(self.bundles.list().await?)
        };
        Ok(self.configured.get_or_try_init(ask).await?)
    }

    /// What answers user code.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The same, for user code of a DAG file: by that its requests are named in the log.
    pub(crate) fn requests_of(&self, file: &Path) -> ParsingRequests {
        let errand = Some(format!("DAG file {}", file.display()));
        let client = Client {
            api: Arc::new(InProcessApi::new(self.service.clone())),
            masker: Arc::clone(&self.masker),
        };
        ParsingRequests { client, asker: Asker { errand, ..Asker::default() } }
    }

    /// Custom timetables, weight rules and the mutation hook.
    pub fn extensions(&self) -> &RunExtensions {
        &self.extensions
    }

    /// How the files of a bundle are found.
    pub(crate) fn listing_rules(&self) -> Result<ListingRules, Error> {
        const OFFICIAL: &str = "airflow.utils.file.might_contain_dag_via_default_heuristic";
        let core = &self.settings.core;
        let syntax = &core.dag_ignore_file_syntax;
        let ignore_syntax = IgnoreSyntax::parse(syntax)
            .ok_or_else(|| Error::setting("core", "dag_ignore_file_syntax", syntax, "glob or regexp"))?;
        let safe_mode = if !core.dag_discovery_safe_mode {
            SafeMode::Off
        } else if core.might_contain_dag_callable == OFFICIAL {
            SafeMode::Guess
        } else {
            self.ask_the_sites_own_rule()
        };
        Ok(ListingRules { ignore_syntax, safe_mode })
    }

    /// In which order files are parsed.
    pub(crate) fn sort_mode(&self) -> Result<SortMode, Error> {
        let mode = &self.settings.dag_processor.file_parsing_sort_mode;
        match mode.as_str() {
            "modified_time" => Ok(SortMode::ModifiedTime),
            "alphabetical" => Ok(SortMode::Alphabetical),
            "random_seeded_by_host" => Ok(SortMode::RandomSeededByHost(self.host.name.clone())),
            _ => {
                let wanted = "modified_time, alphabetical or random_seeded_by_host";
                Err(Error::setting("dag_processor", "file_parsing_sort_mode", mode, wanted))
            }
        }
    }

    /// What a child may use to parse a file.
    pub(crate) fn parse_limits(&self) -> ParseLimits {
        const GRACE: Duration = Duration::from_secs(1);
        ParseLimits {
            timeout: self.settings.dag_processor.dag_file_processor_timeout,
            grace: GRACE,
            memory: self.settings.ferroflow.parsing_memory_limit,
        }
    }

    /// Where a bundle is, at this version if it has versions.
    pub(crate) async fn bundle_folder(&self, name: &str, version: Option<&str>) -> Result<PathBuf, Error> {
        let local = self.configured().await?.iter().find(|bundle| bundle.name == name);
        match local.and_then(|bundle| bundle.local_path.clone()) {
            Some(folder) => Ok(folder),
            None => Ok(self.bundles.initialize_version(name, version).await?),
        }
    }

    /// Whether old versions of bundles may lie around.
    pub(crate) async fn has_fetched_bundles(&self) -> Result<bool, Error> {
        Ok(self.configured().await?.iter().any(|bundle| bundle.local_path.is_none()))
    }

    /// Whether anybody listens to import errors. Plugins are loaded for that once, when the first error is there.
    pub(crate) async fn hears_import_errors(&self) -> bool {
        let mut known = self.hears_import_errors.lock().await;
        if let Some(hears) = known.answer(clock::now()) {
            return hears;
        }
        *known = match self.listeners.hear_import_errors().await {
            Ok(hears) => Hearing::Known(hears),
            Err(error) => {
                tracing::error!("the listeners cannot be loaded: {}", ferroflow_telemetry::chain(&error));
                Hearing::Failed(clock::now())
            }
        };
        matches!(*known, Hearing::Known(true))
    }

    /// Notes that the result of a file waits for user code, as long as what is returned lives.
    pub(crate) fn waits_for_python(&self) -> impl Drop {
        self.waiting_for_python.fetch_add(1, Ordering::Relaxed);
        Waits(&self.waiting_for_python)
    }

    /// How many results wait for it.
    pub(crate) fn waiting_for_python(&self) -> usize {
        self.waiting_for_python.load(Ordering::Relaxed)
    }

    /// Ends the helpers that have loaded plugins: the next questions find them as they are now.
    pub(crate) async fn load_plugins_anew(&self) {
        self.extensions.timetables.restart().await;
        self.listeners.restart().await;
        *self.hears_import_errors.lock().await = Hearing::Unasked;
    }

    fn ask_the_sites_own_rule(&self) -> SafeMode {
        let (discovery, runtime) = (Arc::clone(&self.discovery), tokio::runtime::Handle::current());
        // Files are listed on a thread of their own, which may wait.
        SafeMode::Ask(Box::new(move |candidates| runtime.block_on(ask(&discovery, candidates))))
    }
}

/// Asks the site's own rule about files and members of archives.
async fn ask(
    discovery: &Discovery,
    candidates: &[Candidate],
) -> Result<Vec<bool>, Box<dyn StdError + Send + Sync>> {
    let mut answers = Vec::with_capacity(candidates.len());
    for group in candidates
        .chunk_by(|a, b| a.member.is_some() == b.member.is_some() && (a.member.is_none() || a.path == b.path))
    {
        let archive = group.first().filter(|first| first.member.is_some()).map(|first| first.path.as_path());
        let paths: Vec<PathBuf> = group
            .iter()
            .map(|candidate| candidate.member.as_ref().map_or_else(|| candidate.path.clone(), PathBuf::from))
            .collect();
        for (path, answer) in paths.iter().zip(discovery.might_contain_dag(&paths, archive).await?) {
            answers.push(answer.unwrap_or_else(|error| {
                tracing::error!("[core] might_contain_dag_callable fails for {}: {error}", path.display());
                false
            }));
        }
    }
    Ok(answers)
}

/// A database, and a processor without Python.
#[cfg(test)]
pub(crate) async fn without_python() -> (ferroflow_testkit::TestDb, Context) {
    use ferroflow_component::RuntimeParts;
    use ferroflow_config::{Configuration, Environment};
    use ferroflow_testkit::{Server, TestDb};

    let database = TestDb::migrated(Server::Sqlite).await;
    let environment = Environment::empty("/nowhere");
    let configuration = Configuration::load(&environment).expect("there is no file");
    let parts = RuntimeParts {
        db: database.connect().await,
        settings: Arc::new(Settings::load(&configuration).expect("nothing is set")),
        environment,
        fernet: Arc::default(),
        python: "/nowhere/python".into(),
        host: Host { name: "host".to_owned(), user: "somebody".to_owned() },
    };
    (database, Context::new(&Runtime::of(parts, Vec::new())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_that_cannot_be_loaded_are_left_alone_for_a_while() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let failed = Hearing::Failed(at(1_000));
        assert_eq!([1_000, 1_299].map(|second| failed.answer(at(second))), [Some(false); 2]);
        assert_eq!([600, 1_300].map(|second| failed.answer(at(second))), [None; 2]);
        assert_eq!((Hearing::Known(true).answer(at(0)), Hearing::Unasked.answer(at(0))), (Some(true), None));
    }
}
