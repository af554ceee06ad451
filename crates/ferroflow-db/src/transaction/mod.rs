//! Transactions, and what becomes of them.

pub(crate) mod codes;
pub(crate) mod db;
pub(crate) mod error;
pub(crate) mod parts;
pub(crate) mod turns;
pub(crate) mod tx;
pub(crate) mod unreadable;

pub use db::Db;
pub use error::Error;
pub use tx::Tx;
pub use unreadable::{BadRow, Unreadable};
