//! Why a DAG gets no run, a run does not start, or a task instance does not run.
//!
//! The decisions are those of [`crate::runs`], [`crate::readiness`] and [`crate::admission`]. What is added here is who
//! holds what is waited for, since when, and whether those who would act on it live.

mod dag;
mod instance;
mod limit;
mod reason;
mod run;

pub use dag::{DagSituation, ImportFailure, Schedule, of_dag};
pub use instance::{InstanceSituation, Parked, Place, of_instance};
pub use limit::{AtWork, Slots};
pub use reason::{Component, Holder, Kind, Reason};
pub use run::{ActiveRun, RunSituation, of_run};
