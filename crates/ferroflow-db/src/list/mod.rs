//! Lists that are filtered, ordered and read in pages, as REST clients ask for them.
//!
//! A list is a statement with `{where}`, `{order}` and `{page}`, `{order_keys}` behind its columns, and the [fields](field)
//! that it may be filtered and ordered by. What a client names is looked up among them, so nothing of a request becomes
//! SQL: an unknown name, or a value of another kind, is an [error](ListError) before the database is asked. Without a request
//! these fragments are empty, and the statement is the whole list.

mod condition;
mod error;
pub(crate) mod field;
mod keyset;
mod order;
pub(crate) mod render;
mod request;
pub(crate) mod value;

pub use condition::Condition;
pub use error::ListError;
pub use request::{ListRequest, Listed, Paging, Position};
pub use value::Value;
