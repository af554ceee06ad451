//! `deadline` and `deadline_alert`: what must have happened by when.

pub mod alert;
pub mod create;
pub mod missed;
