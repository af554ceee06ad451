//! DAG runs: they come into being, are triggered, begin anew.

mod clear;
pub mod create;
mod find;
mod history;
mod list;
mod making;
mod params;
mod trigger;

pub use clear::clear;
pub(crate) use clear::{ClearPlan, WhichInstances, clear_instances, plans};
pub use find::{RunName, find, find_if_there};
pub use history::{RunHistory, RunTries, newest_runs, tries};
pub use list::list;
pub use making::{BadRunIdPattern, RunMaking};
pub use params::{BadParam, check_params};
pub use trigger::{RequestedRun, TriggerRequest, trigger, trigger_action, trigger_by_task};
pub(crate) use trigger::{deadlines, trigger_from};
