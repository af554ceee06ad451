//! DAGs.

mod delete;
mod find;
mod pause;

pub use delete::{DagDeletion, delete};
pub use find::{StoredDag, find, unknown};
pub use pause::{PauseChange, PauseRequest, WhichDags, pause};
