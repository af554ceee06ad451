//! DAGs.

mod bundles;
mod delete;
mod demands;
mod find;
mod list;
mod next_runs;
mod pause;
mod usable;

pub use bundles::check_bundles;
pub use delete::{DagDeletion, delete};
pub use demands::{Demands, demands};
pub(crate) use find::decoded;
pub use find::{StoredDag, find, find_row, find_row_if_there, unknown};
pub use list::{ListedDags, details, details_of, list};
pub use next_runs::next_runs;
pub use pause::{PauseChange, PauseRequest, WhichDags, pause};
pub use usable::find_usable;
