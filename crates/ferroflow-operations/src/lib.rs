//! What a person or a program may ask for, each once: the command line and the REST API call the same functions, and so
//! do schedulers and running tasks where they do the same.
//!
//! One folder per resource, one file per verb: `dag/pause.rs` has the verb `dag::pause`, its request and its answer. A
//! verb takes [`Operations`] and a request, checks the request, reads, decides and writes in one transaction, notifies
//! schedulers and writes the audit log. Its callers parse words and render answers; they hold no rules. Why something is
//! not done is an [`OperationError`], whose message can be shown as it is.
//!
//! A verb that a person may be asked to confirm returns what would change, as a value with an `apply`.
//!
//! To add a verb: a file in the folder of its resource with
//! `pub async fn verb(operations: &Operations, request: VerbRequest) -> Result<VerbAnswer, OperationError>`; if it changes
//! something, [`AuditAction`] first and `ferroflow_db::notifications::notify` in its transaction; a test in `tests/`; a
//! command in `crates/ferroflow/src/commands` and, for HTTP, a route.

pub mod asset;
mod audit;
pub mod backfill;
pub mod cleaning;
pub mod connection;
pub mod connection_text;
pub mod dag;
pub mod dag_run;
mod error;
pub mod fernet_key;
pub mod import_error;
pub mod job;
mod operations;
pub mod pool;
pub mod secrets;
pub mod table_size;
pub mod task_instance;
mod user_code;
pub mod variable;

pub use audit::{AuditAction, Caller};
pub use error::{OperationError, Problem};
pub use operations::Operations;
pub use user_code::{RunUserCode, Started, UserCode, has_user_code};
