//! What the assets of a DAG file mean in rows: which assets, aliases, references and watchers there should be, and
//! what has to change for them to be there.
//!
//! - `used.rs`: what the DAGs of one file use.
//! - `rows.rs`: which assets and aliases are new, or not as they should be.
//! - `references.rs`: who uses which of them, and how that differs from what is stored.
//! - `watchers.rs`: which triggers watch an asset from outside.
//! - `activation.rs`: which of them are in use.
//! - `expression.rs`: the condition of a schedule, as pages show it.

mod activation;
mod expression;
mod references;
mod rows;
mod used;
mod watchers;

pub use activation::{Activation, WaitingAsset, activation};
pub use expression::{condition_of, expression};
pub use references::{Access, Reference, ReferenceChanges, reference_changes, references};
pub use rows::{
    AliasDifference, AssetDifference, StoredAlias, StoredAsset, alias_difference, asset_difference,
};
pub use used::{AssetKey, DagAssets, FileAssets, Ids, TaskAssets};
pub use watchers::{
    EventTrigger, StoredWatcher, WantedWatcher, WatcherChanges, wanted_watchers, watcher_changes,
};
