//! What tests need: a fresh database of each kind, and the real Airflow to compare with.
//!
//! The servers and the virtualenv come from `./test`, which tells where they are in `FERROFLOW_TEST_*`. A test
//! that misses one fails and says so: nothing is skipped.

#![expect(clippy::missing_panics_doc, reason = "what is for tests fails by panicking")]

mod airflow;
pub mod dag_processing;
mod database;
mod faulty;
mod given;
mod held;
mod held_rows;
mod on_every_database;
mod program;
mod refusal;
pub mod replay;
pub mod rows;
mod small_disk;
mod warm_python;

pub use airflow::Airflow;
pub use database::{Server, TestDb, creation};
pub use faulty::{Fault, Faulty};
pub use given::given;
pub use held::Held;
pub use held_rows::HeldRows;
pub use program::{Finished, Program, finish};
pub use small_disk::SmallDisk;
pub use warm_python::finish_warm;

/// A folder of the repository, from its root.
pub fn repository(path: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
