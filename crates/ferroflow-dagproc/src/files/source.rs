//! The text of a DAG file, as it is kept with the versions of its DAGs.

use std::io;
use std::path::{Path, PathBuf};

use super::archive;

/// Why a text cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be read.
    #[error("the source file {path:?} cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said; a missing file is `NotFound`.
        source: io::Error,
    },
    /// The archive cannot be read, or not this member.
    #[error("{member:?} in the archive {path:?} cannot be read: {why}; make the archive anew")]
    Archive {
        /// The archive.
        path: PathBuf,
        /// The member.
        member: String,
        /// What is wrong.
        why: String,
    },
    /// The archive is there, the member is not.
    #[error("there is no {member:?} in the archive {path:?}")]
    NoMember {
        /// The archive.
        path: PathBuf,
        /// The member.
        member: String,
    },
    /// The database keeps text. Airflow refuses such a file too, whatever encoding its first line declares.
    #[error(
        "the source {path:?} is not UTF-8: byte 0x{byte:02x} at position {position}; \
         save it as UTF-8, or write such characters as escapes"
    )]
    NotUtf8 {
        /// The file, or a member of an archive.
        path: PathBuf,
        /// The first byte that is no text.
        byte: u8,
        /// Where it is, counted from zero.
        position: usize,
    },
}

/// The text of a file, or of a member of an archive (`archive.zip/member.py`), with `\n` at the end of every line.
pub fn source(path: &Path) -> Result<String, SourceError> {
    let content = match in_archive(path) {
        Some((archive, member)) => read_member(archive, member)?,
        None => {
            std::fs::read(path).map_err(|source| SourceError::Unreadable { path: path.to_owned(), source })?
        }
    };
    let text = String::from_utf8(content).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        SourceError::NotUtf8 { path: path.to_owned(), byte: error.as_bytes()[position], position }
    })?;
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text })
}

/// A path goes into an archive if a folder of it is a file called `….zip` that is an archive by content.
fn in_archive(path: &Path) -> Option<(&Path, &str)> {
    let (archive, member) = path.to_str()?.rsplit_once(".zip/")?;
    let archive = Path::new(&path.to_str()?[..archive.len() + ".zip".len()]);
    archive::is_archive(archive).then_some((archive, member))
}

fn read_member(archive: &Path, member: &str) -> Result<Vec<u8>, SourceError> {
    let (path, name) = (archive.to_owned(), member.to_owned());
    match archive::read_member(archive, member) {
        Ok(Some(content)) => Ok(content),
        Ok(None) => Err(SourceError::NoMember { path, member: name }),
        Err(why) => Err(SourceError::Archive { path, member: name, why }),
    }
}
