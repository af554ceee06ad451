//! The file of a DAG is parsed and stored, so that what runs is what the file says now.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use ferroflow_dagproc::once::Pass;
use ferroflow_operations::{OperationError, dag};

use super::Stage;

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
    let known = dag::find_row_if_there(stage.db, wanted.dag_id).await?;
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
    Ok(dag::find_usable(stage.db, wanted.dag_id).await.map(drop)?)
}

async fn store_file(stage: &Stage<'_>, wanted: &Wanted<'_>, file: &Path) -> Result<()> {
    let pass = Pass::to_store(&stage.cx, wanted.bundles).await?;
    let is_file = |place: &PathBuf| place.canonicalize().is_ok_and(|place| place == file);
    let found = pass.places().find(|(_, _, place)| is_file(place));
    let Some((bundle, path)) = found.map(|(bundle, path, _)| (bundle.to_owned(), path.to_owned())) else {
        bail!("{} is no DAG file of a configured bundle", file.display());
    };
    pass.only(|of, relative| of == bundle && relative == path).store(|_| ()).await?;
    Ok(dag::find_usable(stage.db, wanted.dag_id).await.map(drop)?)
}

async fn is_usable(stage: &Stage<'_>, dag_id: &str) -> Result<bool> {
    match dag::find_usable(stage.db, dag_id).await {
        Ok(_) => Ok(true),
        Err(error @ OperationError::Database(_)) => Err(error.into()),
        Err(_) => Ok(false),
    }
}
