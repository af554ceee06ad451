//! What can be wrong with a folder of DAG files.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Something in a bundle that could not be used; everything else was. Paths are relative to the bundle.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The folder's entries cannot be read, so its DAGs are not seen.
    #[error("the folder {path:?} cannot be read, so the files in it are left out; make it readable")]
    UnreadableFolder {
        /// The folder.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file that has to be looked into cannot be read.
    #[error("the file {path:?} cannot be read, so it is left out; make it readable")]
    UnreadableFile {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A symbolic link with the name of a DAG file leads nowhere.
    #[error("the symbolic link {path:?} leads nowhere; repair or remove it")]
    BrokenLink {
        /// The link.
        path: String,
    },
    /// The database keeps paths as text, so a name that is none cannot be served.
    #[error("the name of {path:?} is not UTF-8, so it is left out; rename it")]
    NameIsNotText {
        /// The path, with the bytes that are no text replaced.
        path: String,
    },
    /// One line of an ignore file means nothing and is skipped; the other lines count.
    #[error("{path}, line {line}: the pattern {pattern:?} is skipped: {why}")]
    IgnoreLine {
        /// The ignore file.
        path: String,
        /// Counted from one.
        line: usize,
        /// The pattern, without its comment.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file looks like a zip archive, but its directory cannot be read.
    #[error("the archive {path:?} cannot be read, so nothing in it is served: {why}; make it anew")]
    BadArchive {
        /// The archive.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// One member of an archive cannot be looked into. It counts as present.
    #[error("{member:?} in the archive {path:?} cannot be looked into: {why}; make the archive anew")]
    BadMember {
        /// The archive.
        path: String,
        /// The member.
        member: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Why a whole bundle cannot be listed. What was known of it before should stay as it is.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The bundle's folder is missing or cannot be read.
    #[error("the folder {path:?} of DAG files cannot be read; mount it, create it, or make it readable")]
    Root {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The same folder was met twice, by symbolic links: walking on might have no end.
    #[error(
        "{folder:?} appears more than once below {root:?}, by the symbolic link or folder {path:?}; \
         remove the link, or name it in an .airflowignore file"
    )]
    Loop {
        /// The bundle's folder.
        root: PathBuf,
        /// Where the folder was met again, relative to the bundle.
        path: String,
        /// The folder, without symbolic links.
        folder: PathBuf,
    },
    /// Without its ignore file, a folder might serve what it must not.
    #[error("the ignore file {path:?} cannot be read; make it readable, or remove it")]
    IgnoreFile {
        /// The ignore file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The site's own `[core] might_contain_dag_callable` could not be asked.
    #[error("[core] might_contain_dag_callable gave no answer for {root:?}")]
    Asking {
        /// The bundle's folder.
        root: PathBuf,
        /// What happened.
        source: Box<dyn Error + Send + Sync>,
    },
}
