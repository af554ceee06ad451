//! Assets: which there are, how one is updated, and what happens when they change.

mod find;
mod mapped;
mod mappings;
mod materialize;
mod register;

pub use find::{AMBIGUOUS, alias, aliases, find, list};
pub use mappings::Mappings;
pub use materialize::{MATERIALIZE, Materialized, materialize};
pub use register::{Change, EventRules, Source, register};
