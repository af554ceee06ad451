//! `import_error`: files that could not be imported, and why.

use jiff::Timestamp;

use crate::list::ListRequest;
use crate::list::field::{Field, Fields};
use crate::list::value::Kind;
use crate::statement::{Bind, binds, sql};
use crate::{Error, Tx};

const FIELDS: Fields =
    Fields { key: "id", all: &[Field::new("id", &["import_error.id"], Kind::Int).ordered()] };

/// What went wrong with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportErrorRow {
    /// The identity of the row.
    pub id: i64,
    /// When the file was parsed.
    pub timestamp: Option<Timestamp>,
    /// The file, relative to its bundle.
    pub filename: Option<String>,
    /// The bundle that it is in.
    pub bundle_name: Option<String>,
    /// What Python said.
    pub stacktrace: Option<String>,
}

/// All of them, the oldest row first.
pub async fn list(tx: &mut Tx) -> Result<Vec<ImportErrorRow>, Error> {
    let rows = tx.list(sql!("import_error/list"), &FIELDS, &ListRequest::new()).await?.rows;
    let error = |row: &crate::statement::Row| {
        Ok(ImportErrorRow {
            id: row.get("id")?,
            timestamp: row.optional("timestamp")?,
            filename: row.optional("filename")?,
            bundle_name: row.optional("bundle_name")?,
            stacktrace: row.optional("stacktrace")?,
        })
    };
    rows.iter().map(error).collect()
}

/// How many there are in each bundle that has any.
pub async fn count_by_bundle(tx: &mut Tx) -> Result<Vec<(Option<String>, i64)>, Error> {
    let rows = tx.fetch_all(sql!("import_error/count_by_bundle"), binds![]).await?;
    rows.iter().map(|row| Ok((row.optional("bundle_name")?, row.get("errors")?))).collect()
}

/// Why a file could not be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The bundle that the file is in.
    pub bundle_name: String,
    /// The file, within its bundle.
    pub filename: String,
    /// What went wrong.
    pub stacktrace: String,
}

/// Those of some files that have an error.
pub async fn filenames(tx: &mut Tx, bundle_name: &str, filenames: &[&str]) -> Result<Vec<String>, Error> {
    let binds = vec![bundle_name.into(), filenames.iter().copied().collect()];
    let rows = tx.fetch_all(sql!("import_error/filenames"), binds).await?;
    rows.iter().map(|row| row.get("filename")).collect()
}

/// Notes an error of a file that has none, and returns the id of its row.
pub async fn insert(tx: &mut Tx, error: &ImportError, now: Timestamp) -> Result<i64, Error> {
    let binds = binds![now, error.filename.as_str(), error.bundle_name.as_str(), error.stacktrace.as_str()];
    tx.insert(sql!("import_error/insert"), binds).await
}

/// Replaces the error of a file, also if it is the same: its time tells when it was last seen.
pub async fn update(tx: &mut Tx, error: &ImportError, now: Timestamp) -> Result<(), Error> {
    let binds = binds![now, error.stacktrace.as_str(), error.bundle_name.as_str(), error.filename.as_str()];
    tx.execute(sql!("import_error/update"), binds).await?;
    Ok(())
}

/// Takes away what was wrong with a file, and says how many rows that was.
pub async fn clear(tx: &mut Tx, bundle_name: &str, filename: &str) -> Result<u64, Error> {
    tx.execute(sql!("import_error/clear"), binds![bundle_name, filename]).await
}

/// An error of a bundle's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The identity of the row.
    pub id: i64,
    /// The file, within its bundle.
    pub filename: String,
    /// When the file was parsed.
    pub timestamp: Option<Timestamp>,
}

/// The errors of a bundle's files.
pub async fn files_of_bundle(tx: &mut Tx, bundle: &str) -> Result<Vec<FileError>, Error> {
    let rows = tx.fetch_all(sql!("import_error/of_bundle"), binds![bundle]).await?;
    tx.readable(&rows, |row| {
        let filename = row.optional("filename")?.unwrap_or_default();
        // A time that cannot be read is none.
        let timestamp = tx.or_note(row.optional("timestamp"))?.flatten();
        Ok(FileError { id: row.get("id")?, filename, timestamp })
    })
}

/// Removes errors by their ids.
pub async fn delete(tx: &mut Tx, ids: &[i64]) -> Result<(), Error> {
    let ids: Bind = ids.iter().copied().collect();
    tx.execute(sql!("import_error/delete_by_id"), binds![ids]).await?;
    Ok(())
}

/// Removes every error of a bundle that is not configured any more.
pub async fn delete_of_bundle(tx: &mut Tx, bundle: &str) -> Result<u64, Error> {
    tx.execute(sql!("import_error/delete_of_bundle"), binds![bundle]).await
}
