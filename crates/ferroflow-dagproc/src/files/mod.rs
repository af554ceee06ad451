//! Which files of a bundle are DAG files, what their source is, and when they change.
//!
//! A [`Lister`] answers as Airflow does: it walks the folder (`walk`), leaves out what `.airflowignore` files name
//! (`ignore`, with `glob` and `python_regex` for the two syntaxes), and keeps Python files (`safe_mode`) and zip
//! archives (`archive`). [`source`] reads the text that is kept with a DAG, and a [`Watcher`] tells of changes before
//! the next listing would.

mod archive;
mod glob;
mod ignore;
mod listing;
mod problem;
mod python_regex;
mod safe_mode;
mod source;
mod walk;
mod watch;

pub use ignore::IgnoreSyntax;
pub use listing::{Ask, Candidate, ListedFile, Lister, Listing, ListingRules, SafeMode, Stamp};
pub use problem::{ListingError, Problem};
pub use source::{SourceError, source};
pub use watch::{Change, Changed, Watcher};
