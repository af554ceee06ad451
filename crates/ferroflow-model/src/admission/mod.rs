//! Which of the task instances that could run may run now: the scheduler's critical section, without the
//! database.
//!
//! The limits are Airflow's: slots of pools, `max_active_tasks` of each run, `max_active_tis_per_dag` and
//! `max_active_tis_per_dagrun` of tasks, free slots of executors, `parallelism`. The order is not. Airflow
//! takes one page of candidates and then applies most limits to it, so that a page full of what cannot run
//! hides the rest. Here every limit is applied before anything is counted off the budget, so that whatever
//! fits goes (see [`admit`] for the order).
//!
//! Candidates are kept in [`Waiting`] between calls, in lanes of those that share every limit. If the first
//! of a lane cannot run, neither can the others; if a run has as much at work as it may, or its DAG is paused,
//! none of its lanes can; if a pool is full, none of its runs can. So a call looks at the lanes of runs and
//! pools that have room, not at all that waits.
//!
//! Who does not keep [`Waiting`] but builds it for each call hands its [`Turns`] on.
//!
//! A number of slots below one, which only SQL written by hand can bring about, is added up as Airflow does.
//! What a negative one gives back to the pool counts from the next call on: within a call, room only shrinks.

mod admit;
mod candidate;
mod check;
mod decision;
mod executors;
mod in_use;
mod limits;
mod line;
mod patience;
mod queue;
mod refusal;
mod turns;
mod waiting;

pub use admit::{Tick, admit};
pub use candidate::{Candidate, InstanceKey};
pub use decision::{Admitted, ClosedPool, Decision, Refused, Stopped, Verdict};
pub use executors::{Executor, ExecutorName, Executors};
pub use in_use::InUse;
pub use limits::{DagLimits, Limits, Pool};
pub use patience::DEFAULT_PATIENCE;
pub use refusal::Refusal;
pub use turns::Turns;
pub use waiting::Waiting;
