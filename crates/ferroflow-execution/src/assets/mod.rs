//! Assets: what they are, and what happened to them.

mod events;
mod lookup;

pub use events::AssetEvents;
pub(crate) use lookup::active;
