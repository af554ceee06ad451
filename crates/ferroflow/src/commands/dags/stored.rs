//! A DAG by its name, as the database has it.

pub(crate) use crate::commands::operations::connect;
