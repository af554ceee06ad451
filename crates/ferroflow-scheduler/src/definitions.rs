//! The DAGs that were read: each version once, as long as it is used.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use ferroflow_db::Tx;
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_telemetry::metrics::scheduling;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::Error;
use crate::run::Definition;

/// How many versions are kept that no run uses.
const KEPT: usize = 512;

/// The versions of DAGs that were read, and which of them is the newest of its DAG.
pub struct Definitions {
    /// How long an answer is trusted (`[core] min_serialized_dag_update_interval`).
    trusted: SignedDuration,
    read: Mutex<Read>,
}

#[derive(Default)]
struct Read {
    versions: HashMap<Uuid, Kept>,
    latest: HashMap<String, (Uuid, Timestamp)>,
    uses: u64,
    /// How many versions there were when room was last made.
    looked_at: usize,
}

struct Kept {
    definition: Arc<Definition>,
    hash: String,
    last_use: u64,
}

impl Definitions {
    /// None yet.
    pub fn new(trusted: SignedDuration) -> Self {
        Self { trusted, read: Mutex::default() }
    }

    /// The version that a run uses: that which it was made with if its bundle has versions, else the newest.
    pub async fn of_run(&self, tx: &mut Tx, run: &DagRun, now: Timestamp) -> Result<Arc<Definition>, Error> {
        match Definition::version_of_run(run) {
            Some(version) => match self.kept(version, None) {
                Some(definition) => Ok(definition),
                None => Ok(self.keep(Definition::of_run(tx, run).await?)),
            },
            None => self.latest(tx, &run.dag_id, now).await,
        }
    }

    /// The same of several runs, by their rows; of those of which it can be told.
    pub(crate) async fn of_runs(
        &self,
        tx: &mut Tx,
        runs: &[DagRun],
        now: Timestamp,
    ) -> Result<HashMap<i64, Arc<Definition>>, Error> {
        let untied = runs.iter().filter(|run| Definition::version_of_run(run).is_none());
        let unknown: BTreeSet<&str> = untied
            .map(|run| run.dag_id.as_str())
            .filter(|dag_id| self.trusted_version(dag_id, now).is_none())
            .collect();
        if !unknown.is_empty() {
            self.newest_of(tx, &unknown.into_iter().collect::<Vec<_>>(), now).await?;
        }
        let mut found = HashMap::with_capacity(runs.len());
        for run in runs {
            match self.of_run(tx, run, now).await {
                Ok(definition) => _ = found.insert(run.id, definition),
                Err(error) if error.is_passing() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(found)
    }

    /// The newest version of a DAG. One that was asked for a moment ago is not looked for again.
    pub async fn latest(&self, tx: &mut Tx, dag_id: &str, now: Timestamp) -> Result<Arc<Definition>, Error> {
        let known = self.trusted_version(dag_id, now).and_then(|version| self.kept(version, None));
        match known {
            Some(definition) => Ok(definition),
            None => self.newest(tx, dag_id, now).await,
        }
    }

    /// The version that was the newest of a DAG a moment ago.
    fn trusted_version(&self, dag_id: &str, now: Timestamp) -> Option<Uuid> {
        let (version, at) = self.locked().latest.get(dag_id).copied()?;
        (now.duration_since(at) < self.trusted).then_some(version)
    }

    /// The same, looked for again. A version that has no task instances yet may have been rewritten in place.
    pub async fn newest(&self, tx: &mut Tx, dag_id: &str, now: Timestamp) -> Result<Arc<Definition>, Error> {
        let stored = serialized_dag::latest_hash(tx, dag_id).await?;
        let (version, hash) = stored.ok_or_else(|| Error::NotSerialized(dag_id.to_owned()))?;
        let definition = match self.kept(version, Some(&hash)) {
            Some(definition) => definition,
            None => self.keep(Definition::latest(tx, dag_id).await?),
        };
        self.locked().latest.insert(dag_id.to_owned(), (definition.version.id, now));
        Ok(definition)
    }

    /// Looks whether any of these DAGs has changed since it was read, in one of its versions if there are several. Answers
    /// those.
    pub async fn changed(
        &self,
        tx: &mut Tx,
        read: &[(&str, &Definition)],
    ) -> Result<BTreeSet<String>, ferroflow_db::Error> {
        let dag_ids: BTreeSet<&str> = read.iter().map(|(dag_id, _)| *dag_id).collect();
        let dag_ids: Vec<&str> = dag_ids.into_iter().collect();
        let stored = serialized_dag::latest_hashes(tx, &dag_ids).await?;
        let is_same = |dag_id: &str, known: &Definition| {
            stored
                .get(dag_id)
                .is_none_or(|(version, hash)| known.version.id == *version && known.hash == *hash)
        };
        let changed = read.iter().filter(|(dag_id, known)| !is_same(dag_id, known));
        let changed: BTreeSet<String> = changed.map(|(dag_id, _)| (*dag_id).to_owned()).collect();
        for dag_id in &changed {
            self.has_changed(dag_id);
        }
        Ok(changed)
    }

    /// The newest versions of several DAGs, looked for again. A DAG that has none, or whose document cannot be read, keeps
    /// back no other.
    pub async fn newest_of(
        &self,
        tx: &mut Tx,
        dag_ids: &[&str],
        now: Timestamp,
    ) -> Result<HashMap<String, Result<Arc<Definition>, Error>>, Error> {
        let stored = serialized_dag::latest_hashes(tx, dag_ids).await?;
        let mut found = HashMap::with_capacity(dag_ids.len());
        let mut unread: HashMap<Uuid, &str> = HashMap::new();
        for dag_id in dag_ids {
            match stored.get(*dag_id) {
                None => {
                    found.insert((*dag_id).to_owned(), Err(Error::NotSerialized((*dag_id).to_owned())));
                }
                Some((version, hash)) => match self.kept(*version, Some(hash)) {
                    Some(kept) => _ = found.insert((*dag_id).to_owned(), Ok(kept)),
                    None => _ = unread.insert(*version, dag_id),
                },
            }
        }
        for (dag_id, read) in Definition::read_many(tx, &unread).await? {
            found.insert(dag_id, read.map(|definition| self.keep(definition)));
        }
        // It was deleted in between.
        for dag_id in unread.into_values() {
            found.entry(dag_id.to_owned()).or_insert_with(|| Err(Error::NotSerialized(dag_id.to_owned())));
        }
        let mut read = self.locked();
        for (dag_id, definition) in &found {
            if let Ok(definition) = definition {
                read.latest.insert(dag_id.clone(), (definition.version.id, now));
            }
        }
        drop(read);
        Ok(found)
    }

    /// Forgets which version of a DAG is the newest: it has changed.
    pub fn has_changed(&self, dag_id: &str) {
        self.locked().latest.remove(dag_id);
    }

    fn kept(&self, version: Uuid, hash: Option<&str>) -> Option<Arc<Definition>> {
        let kept = self.find(version, hash);
        scheduling::dag_asked_for(kept.is_some());
        kept
    }

    fn find(&self, version: Uuid, hash: Option<&str>) -> Option<Arc<Definition>> {
        let mut read = self.locked();
        read.uses += 1;
        let now = read.uses;
        let kept = read.versions.get_mut(&version)?;
        if hash.is_some_and(|hash| hash != kept.hash) {
            return None;
        }
        kept.last_use = now;
        Some(Arc::clone(&kept.definition))
    }

    fn keep(&self, definition: Definition) -> Arc<Definition> {
        let definition = Arc::new(definition);
        let mut read = self.locked();
        read.uses += 1;
        let kept =
            Kept { definition: Arc::clone(&definition), hash: definition.hash.clone(), last_use: read.uses };
        read.versions.insert(definition.version.id, kept);
        read.make_room();
        scheduling::dags_kept(read.versions.len());
        definition
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read {
    /// Lets go of what was used least recently, a quarter at a time so that this is seldom looked for.
    fn make_room(&mut self) {
        if self.versions.len() < self.looked_at + KEPT / 4 {
            return;
        }
        self.drop_oldest();
        self.looked_at = self.versions.len();
    }

    fn drop_oldest(&mut self) {
        let idle = |kept: &Kept| Arc::strong_count(&kept.definition) == 1;
        let mut uses: Vec<u64> =
            self.versions.values().filter(|kept| idle(kept)).map(|kept| kept.last_use).collect();
        if uses.len() <= KEPT {
            return;
        }
        uses.sort_unstable();
        let oldest_kept = uses[uses.len() - KEPT * 3 / 4];
        self.versions.retain(|_, kept| !idle(kept) || kept.last_use >= oldest_kept);
    }
}
