//! How values look in the database, where SQL alone does not say: the forms that Airflow reads and writes.

pub mod executor_config;
pub mod fernet;
pub mod fernet_rotation;
pub(crate) mod timestamp;
