//! `dag`, and what else is stored of each DAG: its tags, owners' links and warnings.

pub mod delete;
mod fields;
pub mod list;
pub mod owner_attributes;
mod parsed;
pub mod pause;
pub mod priority_parsing_request;
pub(crate) mod row;
pub mod scheduling;
mod stale;
pub mod tag;
pub mod warning;

pub use parsed::{ParsedColumns, flag_import_errors, insert_if_missing, lock, update_parsed};
pub use row::{Dag, find, insert};
pub use stale::{FoundDag, active, active_of_bundle, set_found, set_stale};
