//! The scheduler: what happens next in the runs of DAGs.
//!
//! Every step gathers rows, asks one pure function of `ferroflow-model`, and writes the answer in one transaction.

pub mod drive;
mod error;
mod log_path;
pub mod manual_run;
pub mod run;
mod run_name;
pub mod single;
mod workload;

pub use error::Error;
pub use ferroflow_execution::create_run;
pub use log_path::{LogPaths, TemplateError};
pub use run_name::manual_run_id;
pub use workload::workload;
