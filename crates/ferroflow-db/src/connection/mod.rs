//! `connection` and `connection_test_request`.

pub(crate) mod row;
pub mod test_request;

pub use row::{
    Connection, StoredConnection, all, delete, exists, find, find_stored, insert, names, overwrite,
    store_tested,
};
