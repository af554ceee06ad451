//! The state that a task reports.

use ferroflow_telemetry::clock;
use rmpv::Value;

use super::read_request;
use crate::Refusal;
use crate::api::StateUpdate;

/// What `SucceedTask`, `RetryTask`, `DeferTask`, `RescheduleTask`, `AwaitInputTask` and `TaskState` report.
pub fn state_update(kind: &str, message: Value) -> Result<StateUpdate, Refusal> {
    read_request(kind, &with_end_date(message))
}

/// A failure may come without its time.
fn with_end_date(mut message: Value) -> Value {
    if let Value::Map(entries) = &mut message
        && let Some((_, date)) = entries.iter_mut().find(|(key, _)| key.as_str() == Some("end_date"))
        && date.is_nil()
    {
        *date = clock::now().to_string().into();
    }
    message
}
