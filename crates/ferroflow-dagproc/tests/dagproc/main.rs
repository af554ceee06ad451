//! DAG files are found, parsed and stored.

mod assets;
mod files;
mod forgetting;
mod store;
mod watch;
