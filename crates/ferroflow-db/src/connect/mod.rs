//! From a URL to a pool of connections.
//!
//! The first connection is made by itself, so that what is wrong is told in one line instead of a time-out of
//! the pool.

pub(crate) mod error;
mod mysql;
pub(crate) mod open;
mod postgres;
mod promptness;
mod sqlite;
pub mod sqlite_files;
pub(crate) mod trust;
pub(crate) mod url;

pub use error::ConnectError;
pub use open::Options;
pub(crate) use trust::Trust;
pub use url::{DatabaseUrl, Family, UrlError};
