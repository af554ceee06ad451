//! What tasks keep: for their own later tries, and for assets.

mod asset;
mod task;
