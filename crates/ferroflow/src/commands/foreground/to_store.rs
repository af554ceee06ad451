//! The file of a DAG is parsed and stored, so that what runs is what the file says now.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use ferroflow_dagproc::once::Pass;
use ferroflow_db::{ScopedFutureExt as _, dag};

use super::Stage;
use crate::commands::dags::stored;

/// Which DAG is to be run, and where it may be.
pub(crate) struct Wanted<'a> {
    pub(crate) dag_id: &'a str,
    /// The bundles to look in; all if none is named.
    pub(crate) bundles: &'a [String],
    /// Its file.
    pub(crate) file: Option<&'a Path>,
}

/// Parses the DAG's file and stores what is in it: the one that is named or known, else all files.
pub(crate) async fn store(stage: &Stage<'_>, wanted: &Wanted<'_>) -> Result<()> {
    if let Some(file) = wanted.file {
        let file = std::path::absolute(file)?;
        let file = file.canonicalize().with_context(|| file.display().to_string())?;
        return store_file(stage, wanted, &file).await;
    }
    let known = row(stage, wanted.dag_id).await?;
    let known = known.and_then(|row| Some((row.bundle_name, row.relative_fileloc?)));
    if let Some((bundle, path)) = known {
        let pass = Pass::to_store(&stage.cx, wanted.bundles).await?;
        let pass = pass.only(|of, relative| of == bundle && relative == path);
        if pass.files() > 0 {
            pass.store(|_| ()).await?;
            if is_usable(stage, wanted.dag_id).await? {
                return Ok(());
            }
        }
    }
    // It may have moved, or nobody has ever seen it.
    Pass::to_store(&stage.cx, wanted.bundles).await?.store(|_| ()).await?;
    refuse_unusable(stage, wanted.dag_id).await
}

async fn store_file(stage: &Stage<'_>, wanted: &Wanted<'_>, file: &Path) -> Result<()> {
    let pass = Pass::to_store(&stage.cx, wanted.bundles).await?;
    let is_file = |place: &PathBuf| place.canonicalize().is_ok_and(|place| place == file);
    let found = pass.places().find(|(_, _, place)| is_file(place));
    let Some((bundle, path)) = found.map(|(bundle, path, _)| (bundle.to_owned(), path.to_owned())) else {
        bail!("{} is no DAG file of a configured bundle", file.display());
    };
    pass.only(|of, relative| of == bundle && relative == path).store(|_| ()).await?;
    refuse_unusable(stage, wanted.dag_id).await
}

async fn refuse_unusable(stage: &Stage<'_>, dag_id: &str) -> Result<()> {
    match row(stage, dag_id).await? {
        None => Err(stored::unknown(stage.db, dag_id).await),
        Some(row) if row.has_import_errors == Some(true) => bail!(
            "the file of DAG {dag_id:?} cannot be imported; `ferroflow dags list-import-errors` tells why"
        ),
        Some(row) if row.is_stale => bail!(
            "DAG {dag_id:?} is not in its file {} any more, nor in another one",
            row.fileloc.as_deref().unwrap_or_default()
        ),
        Some(_) => Ok(()),
    }
}

async fn is_usable(stage: &Stage<'_>, dag_id: &str) -> Result<bool> {
    let row = row(stage, dag_id).await?;
    Ok(row.is_some_and(|row| !row.is_stale && row.has_import_errors != Some(true)))
}

async fn row(stage: &Stage<'_>, dag_id: &str) -> Result<Option<dag::Dag>> {
    Ok(stage.db.read(|tx| async move { dag::find(tx, dag_id).await }.scope_boxed()).await?)
}
