//! What is done from time to time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use ferroflow_config::Settings;
use ferroflow_db::dag::priority_parsing_request::ParsingRequest;
use ferroflow_db::dag::{self, priority_parsing_request as parsing_request};
use ferroflow_db::{ScopedFutureExt as _, callback, dag_bundle};
use ferroflow_model::staleness::{self, Gone, Whereabouts};
use ferroflow_telemetry::clock::signed;
use ferroflow_telemetry::metrics::dag_processing as metrics;
use jiff::{SignedDuration, Timestamp};

use crate::Error;
use crate::bundle::{self, Occasion};
use crate::context::Context;
use crate::file::{self, DagFile, LastStored, Statistics};
use crate::gone::{self, GoneDag};
use crate::held_callbacks::{self, Taken};
use crate::manager::Manager;

/// A thing to do from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Chore {
    LinkLatestLogs,
    TakeRequests,
    TakeCallbacks,
    RescueCallbacks,
    LookAtBundles,
    DeactivateOthers,
    MarkStaleDags,
    RemoveStaleBundleVersions,
    PrintStatistics,
}

impl fmt::Display for Chore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LinkLatestLogs => "linking the latest logs",
            Self::TakeRequests => "taking requests for files to be parsed",
            Self::TakeCallbacks => "taking callbacks",
            Self::RescueCallbacks => "taking over callbacks of dead processors",
            Self::LookAtBundles => "looking at the bundles",
            Self::DeactivateOthers => "making bundles inactive that are not configured any more",
            Self::MarkStaleDags => "marking DAGs stale",
            Self::RemoveStaleBundleVersions => "removing old versions of bundles",
            Self::PrintStatistics => "printing statistics",
        })
    }
}

/// What came of a chore.
pub(crate) enum ChoreDone {
    Nothing,
    Requested(Vec<ParsingRequest>),
    Callbacks(Taken),
    /// Nothing is left to do, ever.
    ForGood(Chore),
}

/// When each chore is due. One that is under way is not due.
pub(crate) struct Chores {
    intervals: BTreeMap<Chore, SignedDuration>,
    due: BTreeSet<(Timestamp, Chore)>,
}

impl Chores {
    pub(crate) fn new(settings: &Settings, now: Timestamp) -> Self {
        const SECOND: std::time::Duration = std::time::Duration::from_secs(1);
        const SOON: std::time::Duration = std::time::Duration::from_secs(5);
        let processor = &settings.dag_processor;
        let always = [
            (Chore::LinkLatestLogs, settings.scheduler.job_heartbeat_sec),
            (Chore::TakeRequests, SECOND),
            (Chore::TakeCallbacks, SECOND),
            (Chore::RescueCallbacks, processor.health_check_threshold),
            (Chore::LookAtBundles, processor.bundle_refresh_check_interval),
            (Chore::DeactivateOthers, SOON),
            (Chore::MarkStaleDags, settings.scheduler.parsing_cleanup_interval),
        ];
        let sometimes = [
            (Chore::RemoveStaleBundleVersions, processor.stale_bundle_cleanup_interval),
            (Chore::PrintStatistics, processor.print_stats_interval),
        ];
        let sometimes = sometimes.into_iter().filter_map(|(chore, every)| Some((chore, every?)));
        let shortest = SignedDuration::from_millis(10);
        let intervals: BTreeMap<Chore, SignedDuration> = always
            .into_iter()
            .chain(sometimes)
            .map(|(chore, every)| (chore, signed(every).max(shortest)))
            .collect();
        let mut chores = Self { intervals, due: BTreeSet::new() };
        for chore in chores.intervals.keys().copied().collect::<Vec<_>>() {
            match chore {
                // At the start there is nothing to tell yet.
                Chore::PrintStatistics | Chore::MarkStaleDags => chores.done(chore, now),
                _ => drop(chores.due.insert((now, chore))),
            }
        }
        chores
    }

    /// The chores that are due; they are under way now.
    ///
    /// One that is due later than it ever can be is due, too: the clock was set back.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Vec<Chore> {
        let is_due = |&(at, chore): &(Timestamp, Chore)| {
            let latest = self.intervals.get(&chore).and_then(|interval| now.checked_add(*interval).ok());
            at <= now || latest.is_some_and(|latest| at > latest)
        };
        let due: Vec<(Timestamp, Chore)> = self.due.iter().copied().filter(is_due).collect();
        for entry in &due {
            self.due.remove(entry);
        }
        due.into_iter().map(|(_, chore)| chore).collect()
    }

    /// A chore is done, and rests.
    pub(crate) fn done(&mut self, chore: Chore, now: Timestamp) {
        if let Some(interval) = self.intervals.get(&chore) {
            self.due.insert((now.checked_add(*interval).unwrap_or(Timestamp::MAX), chore));
        }
    }

    /// A chore is not done again.
    pub(crate) fn stop(&mut self, chore: Chore) {
        self.intervals.remove(&chore);
        self.due.retain(|(_, due)| *due != chore);
    }

    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }
}

type Work = Pin<Box<dyn Future<Output = Result<ChoreDone, Error>> + Send>>;

/// Begins a chore. `None` if that was all.
pub(crate) fn begin(manager: &mut Manager, chore: Chore, now: Timestamp) -> Option<Work> {
    let (cx, job_id) = (Arc::clone(&manager.cx), manager.job_id.get());
    let bundles = || manager.bundles.keys().map(ToString::to_string).collect::<Vec<String>>();
    match chore {
        Chore::LinkLatestLogs => {
            link_latest_logs(&cx, now);
            None
        }
        Chore::TakeRequests => {
            let bundles = bundles();
            Some(Box::pin(async move { take_requests(&cx, &bundles).await }))
        }
        // Not while it is looked which belong to no processor.
        Chore::TakeCallbacks if manager.is_at(Chore::RescueCallbacks) => None,
        Chore::TakeCallbacks => {
            let mut bundles = bundles();
            bundles.retain(|bundle| manager.callbacks.has_room_for(bundle, now));
            if bundles.is_empty() {
                return None;
            }
            Some(Box::pin(async move { take_callbacks(&cx, &bundles, job_id).await }))
        }
        Chore::RescueCallbacks => {
            let held = manager.held_callbacks();
            Some(Box::pin(async move {
                held_callbacks::rescue(&cx, &held, now).await?;
                Ok(ChoreDone::Nothing)
            }))
        }
        Chore::LookAtBundles => {
            for tracked in manager.bundles.values_mut() {
                let is_listed = tracked.is_watched || tracked.bundle.watched_path().is_none();
                tracked.want(if is_listed { Occasion::Routine } else { Occasion::FilesChanged });
            }
            None
        }
        Chore::DeactivateOthers => Some(Box::pin(async move {
            let configured = cx.configured().await?.iter().map(|bundle| bundle.name.clone()).collect();
            let is_all = bundle::deactivate_others(&cx, &configured).await?;
            Ok(if is_all { ChoreDone::ForGood(chore) } else { ChoreDone::Nothing })
        })),
        Chore::MarkStaleDags => {
            let stored = stored(&manager.statistics);
            Some(Box::pin(async move {
                mark_stale(&cx, stored).await?;
                Ok(ChoreDone::Nothing)
            }))
        }
        Chore::RemoveStaleBundleVersions => Some(Box::pin(async move {
            if cx.has_fetched_bundles().await? {
                cx.bundles.remove_stale_versions().await?;
            }
            Ok(ChoreDone::Nothing)
        })),
        Chore::PrintStatistics => {
            print_statistics(&manager.statistics, now);
            None
        }
    }
}

/// What was last stored of each file.
pub(crate) fn stored(statistics: &HashMap<DagFile, Statistics>) -> HashMap<DagFile, LastStored> {
    statistics.iter().filter_map(|(file, of)| Some((file.clone(), of.stored.clone()?))).collect()
}

/// Marks DAGs stale whose bundle is not configured any more, or whose file is parsed without them.
pub(crate) async fn mark_stale(cx: &Context, stored: HashMap<DagFile, LastStored>) -> Result<(), Error> {
    let threshold = signed(cx.settings.dag_processor.stale_dag_threshold);
    let (dags, bundles) = cx
        .db
        .read(|tx| async move { Ok((dag::active(tx).await?, dag_bundle::list(tx).await?)) }.scope_boxed())
        .await?;
    let inactive: BTreeSet<String> =
        bundles.into_iter().filter(|bundle| !bundle.active).map(|bundle| bundle.name).collect();
    let when = |bundle: &str, file: &str| {
        Some(stored.get(&DagFile { bundle: bundle.into(), relative: file.into() })?.at)
    };
    // They are in their files all the same.
    let kept_back: BTreeSet<&str> =
        stored.values().flat_map(|of| &of.kept_back).map(String::as_str).collect();
    let judge = |dag: &dag::FoundDag| {
        let bundle = dag.bundle_name.as_deref();
        let is_active = bundle.is_some_and(|bundle| !inactive.contains(bundle));
        let whereabouts =
            Whereabouts { bundle, file: dag.relative_fileloc.as_deref(), found: dag.last_parsed_time };
        staleness::judge(whereabouts, is_active, when, threshold)
    };
    let why = |dag: &dag::FoundDag| {
        Some(match judge(dag)? {
            Gone::WithItsBundle => "its bundle is not configured any more",
            Gone::FromItsFile(_) if kept_back.contains(dag.dag_id.as_str()) => return None,
            Gone::FromItsFile(_) => "its file does not have it any more",
        })
    };
    let stale: Vec<GoneDag> = dags.into_iter().filter_map(|dag| why(&dag).map(|why| (dag, why))).collect();
    // What is locked is marked next time.
    gone::mark_stale(cx, &stale).await?;
    Ok(())
}

fn link_latest_logs(cx: &Context, now: Timestamp) {
    if let Err(error) = cx.logs.link_latest(now) {
        tracing::warn!("the link to the latest logs cannot be made: {error}");
    }
}

async fn take_requests(cx: &Context, bundles: &[String]) -> Result<ChoreDone, Error> {
    let is_any =
        cx.db.read(|tx| async move { parsing_request::is_any(tx, bundles).await }.scope_boxed()).await?;
    if !is_any {
        return Ok(ChoreDone::Nothing);
    }
    let requests =
        cx.db.transact(|tx| async move { parsing_request::take(tx, bundles).await }.scope_boxed()).await?;
    Ok(ChoreDone::Requested(requests))
}

async fn take_callbacks(cx: &Context, bundles: &[String], job_id: i64) -> Result<ChoreDone, Error> {
    let limit = cx.settings.dag_processor.max_callbacks_per_loop;
    let is_any = cx.db.read(|tx| async move { callback::is_any(tx, bundles).await }.scope_boxed()).await?;
    if !is_any {
        return Ok(ChoreDone::Nothing);
    }
    Ok(ChoreDone::Callbacks(held_callbacks::take(cx, bundles, limit, job_id).await?))
}

fn print_statistics(statistics: &HashMap<DagFile, Statistics>, now: Timestamp) {
    for (file, of) in statistics {
        if let Some(finished) = of.finished {
            let ago = now.duration_since(finished).unsigned_abs();
            metrics::last_run_ago(file.measured(), ago);
        }
    }
    if !statistics.is_empty() {
        tracing::info!("DAG file processing statistics\n{}", file::table(statistics.iter()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_stops_no_chore() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let intervals = BTreeMap::from([(Chore::LinkLatestLogs, SignedDuration::from_secs(5))]);
        let mut chores = Chores { intervals, due: BTreeSet::new() };
        chores.done(Chore::LinkLatestLogs, at(10_000));
        assert_eq!(chores.take_due(at(10_004)), []);
        assert_eq!(chores.take_due(at(5_000)), [Chore::LinkLatestLogs]);
        assert_eq!(chores.take_due(at(5_000)), [], "it is under way");
    }
}
