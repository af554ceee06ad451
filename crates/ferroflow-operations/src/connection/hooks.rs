use std::pin::Pin;

pub use ferroflow_python::connections::{Tested, UsualConnection};

use crate::OperationError;

pub type Answering<'a, T> = Pin<Box<dyn Future<Output = Result<T, OperationError>> + Send + 'a>>;

/// What only the installed providers know of connections, and so only Python.
pub trait Hooks: Send + Sync {
    /// The types that there are hooks for.
    fn types(&self) -> Answering<'_, Vec<String>>;
    /// The connections that Airflow's `create-default-connections` makes.
    fn usual(&self) -> Answering<'_, Vec<UsualConnection>>;
    /// Has the hook of a connection try it.
    fn test<'a>(&'a self, conn_id: &'a str) -> Answering<'a, Tested>;
}
