//! Executors that have nothing to do but to run tasks.

use ferroflow_execution::Refusal;
use ferroflow_executor::{Adopted, Orphan};
use ferroflow_scheduler::chores;

/// Nobody leaves anything behind here.
#[derive(Clone)]
pub(crate) struct Nobody;

impl chores::Executors for Nobody {
    fn has(&self, _executor: Option<&str>) -> bool {
        true
    }

    async fn adopt(&self, orphan: &Orphan) -> Result<Adopted, Refusal> {
        panic!("nobody is left behind: {orphan:?}");
    }

    fn can_take_back(&self, _executor: Option<&str>) -> bool {
        false
    }

    fn runs_callbacks(&self, _executor: Option<&str>) -> bool {
        false
    }

    fn tests_connections(&self, _executor: Option<&str>) -> bool {
        false
    }

    fn free_slots(&self) -> usize {
        10
    }
}
