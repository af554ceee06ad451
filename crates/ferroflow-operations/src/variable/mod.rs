//! Variables: values that tasks read by their names.

mod delete;
mod export;
mod get;
mod import;
mod list;
mod set;

pub use delete::delete;
pub use export::export;
pub use ferroflow_db::variable::Variable;
pub use get::{GetRequest, VariableValue, get};
pub use import::{IMPORT, ImportRequest, Imported, OnExisting, import};
pub use list::{list, names};
pub use set::{NewVariable, SetRequest, set, store};
