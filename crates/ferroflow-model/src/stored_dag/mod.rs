//! What a parsed DAG becomes in the database, decided without one.
//!
//! [`ParsedDag::read`] takes the document that Python wrote; [`decide`] tells what becomes of the DAG's versions,
//! [`reuse`] what becomes of its deadlines, and [`changed_paths`] what made it another version. The columns of the
//! `dag` table come from [`ParsedDag`], [`TimetableColumns`] and [`LatestRun`].

mod changes;
mod deadlines;
mod document;
mod hash;
mod lexical;
mod schedule;
mod version;

pub use changes::changed_paths;
pub use deadlines::{DeadlineDefinition, Reused, StoredDeadline, reuse, stored_deadline_ids};
pub use document::{ParsedDag, Refusal, StoredForm};
pub use hash::md5_hex;
pub use schedule::{LatestRun, TimetableColumns, needs_python, timetable_document};
pub use version::{LatestVersion, NewContent, VersionChange, decide};
