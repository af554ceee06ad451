//! One file per command.

pub(crate) mod config;
pub(crate) mod db;
pub(crate) mod info;
pub(crate) mod rotate_fernet_key;
pub(crate) mod timetable;
pub(crate) mod version;
