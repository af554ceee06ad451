//! What is gone: DAGs become stale, and import errors are removed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, asset, dag, import_error};
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::{self, Stopwatch};
use jiff::{SignedDuration, Timestamp};

use crate::Error;
use crate::context::Context;
use crate::files::{Listing, Problem};
use crate::store::sweep::{Swept, forget_dags, forget_stale_dags, unwatch};

/// How many DAGs are marked in one transaction, if no other transaction holds a row of one.
const AT_ONCE: usize = 100;

/// A DAG that is gone, and why.
pub(crate) type GoneDag = (dag::FoundDag, &'static str);

/// By so much the clocks of hosts may differ.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(3);

/// The files of a bundle, and where it was.
#[derive(Clone)]
pub(crate) struct Listed {
    pub(crate) root: PathBuf,
    pub(crate) listing: Arc<Listing>,
    /// When the listing began: it tells nothing of what was stored later.
    pub(crate) since: Timestamp,
}

/// What is not forgotten yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// Rows are in the way.
    Locked,
    /// What was stored when the bundle was being listed, or shortly before: only another listing can tell.
    New,
}

/// DAGs whose file is gone become stale, and errors of files that are gone are removed. A folder that cannot be read
/// at the moment is not gone. Rows that are in the way are left for another time.
pub(crate) async fn forget(
    cx: &Context,
    bundle: &str,
    Listed { root, listing, since }: &Listed,
    now: Timestamp,
) -> Result<Left, Error> {
    let watch = Stopwatch::start();
    let unreadable: Vec<&str> = listing.problems.iter().filter_map(unreadable).collect();
    let is_gone = |file: Option<&str>, is_known: &dyn Fn(&str) -> bool| {
        file.is_none_or(|file| {
            !is_known(file) && !unreadable.iter().any(|path| Path::new(file).starts_with(path))
        })
    };
    let is_observed = |file: &str| listing.observed.contains(file);
    let has_errors = |file: &str| {
        // Those of members of archives are kept under their absolute paths.
        let relative = Path::new(file).strip_prefix(root).ok().and_then(Path::to_str).unwrap_or(file);
        is_observed(relative) || listing.files.iter().any(|listed| listed.relative == relative)
    };
    let (dags, errors) = cx
        .db
        .read(|tx| {
            async move {
                let dags = dag::active_of_bundle(tx, bundle).await?;
                Ok((dags, import_error::files_of_bundle(tx, bundle).await?))
            }
            .scope_boxed()
        })
        .await?;
    // What is newer than it can be has its time from a clock that was wrong. The answer may have taken long.
    let latest = now.checked_add(clock::signed(watch.elapsed())).unwrap_or(Timestamp::MAX);
    let is_new = |time: Option<Timestamp>| {
        time.is_some_and(|time| {
            since.duration_since(time) <= CLOCKS_DIFFER && time.duration_since(latest) <= CLOCKS_DIFFER
        })
    };
    let gone = dags.into_iter().filter(|dag| is_gone(dag.relative_fileloc.as_deref(), &is_observed));
    let (new_dags, dags): (Vec<_>, Vec<_>) = gone.partition(|dag| is_new(dag.last_parsed_time));
    let dags: Vec<GoneDag> = dags.into_iter().map(|dag| (dag, "its file is gone")).collect();
    let gone = errors.into_iter().filter(|error| is_gone(Some(&error.filename), &has_errors));
    let (new_errors, errors): (Vec<_>, Vec<_>) = gone.partition(|error| is_new(error.timestamp));
    let errors: Vec<i64> = errors.iter().map(|error| error.id).collect();
    let mut is_all = mark_stale(cx, &dags).await?;
    if !errors.is_empty() {
        let errors = errors.as_slice();
        is_all &= cx.db.transact_in_parts(|tx| delete_errors(tx, errors).scope_boxed()).await?;
    }
    Ok(match (new_dags.is_empty() && new_errors.is_empty(), is_all) {
        (false, _) => Left::New,
        (true, false) => Left::Locked,
        (true, true) => Left::Nothing,
    })
}

async fn delete_errors(tx: &mut Tx, errors: &[i64]) -> Result<bool, DbError> {
    let mut is_all = true;
    for some in errors.chunks(tx.rows_in_a_part(errors.len())) {
        tx.begin_part().await?;
        let deleted = import_error::delete(tx, some).await;
        is_all &= tx.end_part(deleted).await?.is_ok();
    }
    Ok(is_all)
}

/// Marks DAGs stale, with what follows from it. Returns whether all are: one whose row another transaction has locked, or of which
/// the database does not take it, is left, and keeps no other from it.
pub(crate) async fn mark_stale(cx: &Context, dags: &[GoneDag]) -> Result<bool, Error> {
    let mut is_all = true;
    for group in dags.chunks(AT_ONCE) {
        if mark_together(cx, group).await? {
            continue;
        }
        for dag in group {
            if group.len() == 1 || !mark_together(cx, std::slice::from_ref(dag)).await? {
                tracing::warn!(
                    dag_id = dag.0.dag_id,
                    "the database does not let a DAG be marked stale now: it is later"
                );
                is_all = false;
            }
        }
    }
    sweep(cx).await?;
    Ok(is_all)
}

/// Deletes what is not needed any longer: whatever stale DAGs have left if another has become stale, as Airflow does, and the
/// watch over assets that no DAG waits for.
async fn sweep(cx: &Context) -> Result<(), Error> {
    let is_any =
        cx.db.read(|tx| async move { Ok(!asset::watcher::unscheduled(tx).await?.is_empty()) }.scope_boxed());
    let mut in_the_way = Vec::new();
    if cx.has_stale_dags_to_forget.swap(false, Ordering::Relaxed) {
        let swept = cx.db.transact_in_parts(|tx| forget_stale_dags(tx).scope_boxed()).await;
        let is_done = swept.as_ref().is_ok_and(|swept| swept.in_the_way.is_empty());
        cx.has_stale_dags_to_forget.fetch_or(!is_done, Ordering::Relaxed);
        in_the_way.extend(swept?.in_the_way);
    }
    if is_any.await? {
        let Swept { in_the_way: watchers, .. } =
            cx.db.transact_in_parts(|tx| unwatch(tx).scope_boxed()).await?;
        in_the_way.extend(watchers);
    }
    for error in in_the_way {
        tracing::warn!("leftovers of stale DAGs cannot be deleted now: {}", chain(&error));
    }
    Ok(())
}

/// False, and nothing is done, if a row is in the way.
async fn mark_together(cx: &Context, dags: &[GoneDag]) -> Result<bool, Error> {
    let marked = cx.db.transact(|tx| mark(tx, dags).scope_boxed()).await;
    let Some(marked) = unless_in_the_way(marked)? else { return Ok(false) };
    for (dag, why) in marked {
        cx.has_stale_dags_to_forget.store(true, Ordering::Relaxed);
        tracing::info!(dag_id = dag.dag_id, file = dag.relative_fileloc, "a DAG is stale: {why}");
    }
    Ok(true)
}

async fn mark<'a>(tx: &mut Tx, dags: &'a [GoneDag]) -> Result<Vec<&'a GoneDag>, DbError> {
    let mut marked = Vec::new();
    for gone in dags {
        if dag::set_stale(tx, &gone.0).await? {
            marked.push(gone);
        }
    }
    if !marked.is_empty() {
        let dag_ids: Vec<&str> = marked.iter().map(|gone| gone.0.dag_id.as_str()).collect();
        forget_dags(tx, &dag_ids).await?;
        notifications::notify(tx, Notification::Dags).await?;
    }
    Ok(marked)
}

fn unless_in_the_way<T>(outcome: Result<T, DbError>) -> Result<Option<T>, DbError> {
    match outcome {
        Err(error) if error.is_about_rows() => {
            tracing::debug!("a row is in the way: {}", chain(&error));
            Ok(None)
        }
        outcome => outcome.map(Some),
    }
}

fn unreadable(problem: &Problem) -> Option<&str> {
    match problem {
        Problem::UnreadableFolder { path, .. }
        | Problem::UnreadableFile { path, .. }
        | Problem::BadArchive { path, .. } => Some(path),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_db::import_error::ImportError;
    use ferroflow_db::testing::texts;
    use ferroflow_testkit::rows::add_dag;

    use super::*;
    use crate::context::without_python;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn after(seconds: i64) -> Timestamp {
        NOW + SignedDuration::from_secs(seconds)
    }

    /// A DAG and an import error of files that are not there.
    async fn add(cx: &Context, name: &str, at: Timestamp) {
        let (names, bundle) = (&[name.to_owned()], "dags-folder".to_owned());
        let error =
            &ImportError { bundle_name: bundle, filename: name.to_owned(), stacktrace: String::new() };
        let add = cx.db.transact(|tx| {
            async move {
                add_dag(tx, name).await?;
                dag::set_found(tx, names, at).await?;
                import_error::insert(tx, error, at).await
            }
            .scope_boxed()
        });
        add.await.unwrap();
    }

    #[tokio::test]
    async fn a_listing_tells_nothing_of_what_was_stored_later() {
        let (_database, cx) = without_python().await;
        for (name, at) in [("before", -4), ("just before", -3), ("later", 60), ("never", 3600)] {
            add(&cx, name, after(at)).await;
        }
        let listed = |since| Listed { root: "/dags".into(), listing: Arc::default(), since };
        let rest = async || {
            let dags = "SELECT dag_id AS answer FROM dag WHERE NOT is_stale ORDER BY dag_id";
            let errors = "SELECT filename AS answer FROM import_error ORDER BY filename";
            [texts(&cx.db, dags).await.unwrap(), texts(&cx.db, errors).await.unwrap()]
        };
        let left = forget(&cx, "dags-folder", &listed(NOW), after(60)).await.unwrap();
        assert_eq!(left, Left::New);
        assert_eq!(rest().await, [["just before", "later"], ["just before", "later"]]);
        let left = forget(&cx, "dags-folder", &listed(after(64)), after(64)).await.unwrap();
        assert_eq!(left, Left::Nothing);
        assert!(rest().await.concat().is_empty());
    }
}
