//! Assets: what they are, what happened to them, and what happens when they change.

mod events;
mod lookup;
mod mapped;
mod mappings;
mod register;

pub use events::AssetEvents;
pub(crate) use lookup::active;
pub use mappings::Mappings;
pub use register::{Change, Source, register};
