//! What metrics and the live view show of many tables. Nothing is locked.

pub mod gauges;
pub mod live_view;
