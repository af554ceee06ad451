//! The tables: which ones are there, and making them.
//!
//! The schema is Airflow's, created whole at one revision, from our own DDL in `schema/<revision>/`. Ferroflow
//! never changes it: a database of another revision is refused, with what to do.
//!
//! Creation takes the official migration lock. On PostgreSQL and SQLite it is one transaction. MySQL commits
//! each table by itself; the row in `alembic_version` is written last there, so that an interrupted creation
//! is recognised, and what it left is dropped before the next.

mod ddl;
mod inspect;
pub(crate) mod migrate;
mod refusal;
pub mod table_size;

pub use inspect::State;
pub(crate) use inspect::table_names as tables;
pub(crate) use migrate::ddl_statements;
pub use migrate::{Creation, Migrated, REVISION, check, migrate, reset, state};
pub use refusal::Refusal;
