//! Airflow's Task Execution API: its operations and its models.
//!
//! Nothing here knows a database or msgpack. [`InProcessApi`](crate::InProcessApi) offers the API on the metadata
//! database; a client of an API server implements [`ExecutionApi`] for a worker elsewhere. The models are written to JSON,
//! and read from it, as the API has them.

mod assets;
mod callbacks;
mod connection_tests;
mod execution_api;
mod heartbeats;
mod hitl;
mod instances;
mod runs;
mod secrets;
mod state;
mod task_instance;
mod time_format;
mod unreported;
mod xcoms;

pub use assets::{AssetEventResponse, AssetRef, AssetResponse, CreatedRun, EventWindow, EventsOfAsset};
pub use callbacks::{CallbackProcess, HeldCallback};
pub use connection_tests::TestOutcome;
pub use execution_api::{ExecutionApi, Reply};
pub use heartbeats::{Process, Unheard};
pub use hitl::{HitlDetail, HitlUser};
pub use instances::{
    Breadcrumb, CountedStates, Instances, PreviousInstance, PreviousTi, SkippedTask, TaskInstanceState,
};
pub use runs::{CountedRuns, DagResponse, PreviousRun, PreviousSuccess, TriggerRun};
pub use secrets::{ConnectionResponse, PutVariable, VariableKeys, VariableKeysPage};
pub use state::{AssetProfile, AwaitedInput, Deferral, Ended, Reschedule, Retry, StateUpdate, Success};
pub use task_instance::{
    ConsumedAlias, ConsumedAsset, ConsumedEvent, DagRun, EnterRunning, Heartbeat, RunContext,
};
pub use unreported::UnreportedEnd;
pub use xcoms::{NewXCom, Slice, XComAddress, XComOf};
