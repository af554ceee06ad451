//! What is gone: DAGs become stale, and import errors are removed.

use std::path::Path;
use std::sync::atomic::Ordering;

use ferroflow_db::news::{self, News};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, asset_watcher, dag, import_error};
use ferroflow_telemetry::chain;

use crate::Error;
use crate::context::Context;
use crate::files::{Listing, Problem};
use crate::store::sweep::{Swept, forget_dags, forget_stale_dags, unwatch};

/// How many DAGs are marked in one transaction, if nobody else holds a row of one.
const AT_ONCE: usize = 100;

/// A DAG that is gone, and why.
pub(crate) type GoneDag = (dag::FoundDag, &'static str);

/// DAGs whose file is gone become stale, and errors of files that are gone are removed. A folder that cannot be read
/// at the moment is not gone. Returns whether that is all: rows that are in the way are left for another time.
pub(crate) async fn forget(
    cx: &Context,
    bundle: &str,
    root: &Path,
    listing: &Listing,
) -> Result<bool, Error> {
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
    let dags: Vec<GoneDag> = dags
        .into_iter()
        .filter(|dag| is_gone(dag.relative_fileloc.as_deref(), &is_observed))
        .map(|dag| (dag, "its file is gone"))
        .collect();
    let errors: Vec<i64> =
        errors.iter().filter(|(_, file)| is_gone(Some(file), &has_errors)).map(|(id, _)| *id).collect();
    let are_marked = mark_stale(cx, &dags).await?;
    if errors.is_empty() {
        return Ok(are_marked);
    }
    let errors = errors.as_slice();
    let are_deleted = cx.db.transact_in_parts(|tx| delete_errors(tx, errors).scope_boxed()).await?;
    Ok(are_deleted && are_marked)
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

/// Marks DAGs stale, with what follows from it. Returns whether all are: one whose row somebody else has locked, or of which
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

/// Deletes what nobody needs any longer: whatever stale DAGs have left if another has become stale, as Airflow does, and the
/// watch over assets that no DAG waits for.
async fn sweep(cx: &Context) -> Result<(), Error> {
    let is_any =
        cx.db.read(|tx| async move { Ok(!asset_watcher::unscheduled(tx).await?.is_empty()) }.scope_boxed());
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
        tracing::warn!("what nobody needs any longer cannot be deleted now: {}", chain(&error));
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
        news::tell(tx, News::Dags).await?;
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
