//! Statements: one text for every database, what is bound to it, and the rows that come out.

pub(crate) mod bind;
mod columns;
pub(crate) mod dialect;
pub(crate) mod page;
pub(crate) mod ran;
pub(crate) mod row;
pub(crate) mod row_text;
pub(crate) mod text;

pub(crate) use bind::{BATCH, Bind, binds};
pub use dialect::Dialect;
pub use page::Page;
pub(crate) use row::Row;
pub(crate) use text::{Statement, sql};
