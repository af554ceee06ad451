//! Which state follows on which, and who brings that about.
//!
//! Every change of a state in the database is one of these events: code that writes one asks [`next_task_state`] or
//! [`next_run_state`] first, with the state that the row has, and names that state in its UPDATE. What is not
//! allowed is refused with a sentence that says so. `docs/states.md` shows the same as tables.
//!
//! A request that comes again because its answer was lost, such as the same worker's that it starts, is no event:
//! the Execution API knows the first one by more than the state, and answers as before.

mod run;
mod states;
mod task;

pub use run::{RunEvent, RunRefused, next_run_state};
pub use states::States;
pub use task::{Actor, TaskEvent, TaskRefused, next_task_state};
