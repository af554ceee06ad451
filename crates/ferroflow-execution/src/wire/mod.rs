//! How user code asks: messages of Airflow's Task SDK, in frames of msgpack, answered through
//! [`ExecutionApi`](crate::api::ExecutionApi).
//!
//! [`TaskRequests`] answers a task that runs, [`ParsingRequests`] a DAG file that is parsed and a callback of the DAG
//! processor, [`CallbackRequests`] and [`ConnectionTestRequests`] what an executor runs besides tasks. Only this module
//! knows msgpack.

mod assets;
mod callbacks;
mod client;
mod connection_tests;
mod hitl;
mod instances;
mod message;
mod own_requests;
mod parsing;
mod plain;
mod refusal;
mod repeat;
mod runs;
mod sdk;
mod secrets;
mod state;
mod state_stores;
mod task;
mod time_format;
mod trigger;
mod value;
mod xcoms;

use rmpv::Value;
use serde::de::DeserializeOwned;

pub use callbacks::CallbackRequests;
pub use client::Client;
pub use connection_tests::{ConnectionTestRequests, ReportedTest};
pub use parsing::ParsingRequests;
pub use refusal::Asker;
pub use sdk::{NoSdkVersion, SdkVersion};
pub use state::state_update;
pub use task::TaskRequests;
pub use value::native_times;

use crate::Refusal;
use plain::plain;

/// Reads a message that has values in it for which frames have kinds of their own.
fn read<T: DeserializeOwned>(kind: &str, body: &Value) -> Result<T, Refusal> {
    rmpv::ext::from_value(body.clone())
        .map_err(|error| Refusal::Unreadable { kind: kind.to_owned(), problem: error.to_string() })
}

/// Reads a message whose fields are those of a request of the API.
fn read_request<T: DeserializeOwned>(kind: &str, body: &Value) -> Result<T, Refusal> {
    serde_json::from_value(plain(body))
        .map_err(|error| Refusal::Unreadable { kind: kind.to_owned(), problem: error.to_string() })
}
