//! Requests of user code are repeated while the API does not answer.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_python::Answer;
use rmpv::Value;
use tokio_util::sync::CancellationToken;

use crate::api::ExecutionApi;
use crate::{Patience, Refusal};

/// How long a request of a task is repeated while the API does not answer. Airflow's client gives its API five attempts
/// with up to 90 seconds between them; a task that fails because a database was restarted helps no one.
pub(super) const LIMIT: Duration = Duration::from_mins(3);

/// What answers a kind of user code.
pub(super) trait Requests: Clone + Sync {
    fn api(&mut self) -> &mut Arc<dyn ExecutionApi>;

    /// The answer, or why there is none now.
    fn answered(&self, kind: &str, body: &Value) -> impl Future<Output = Result<Answer, Refusal>> + Send;
}

/// The answer to a request, which is repeated while the API does not answer, up to a limit.
pub(super) async fn answer_patiently<R: Requests>(
    requests: &R,
    kind: &str,
    body: &Value,
    limit: Duration,
) -> Result<Answer, Refusal> {
    let mut patience = Patience::new(kind);
    // User code may wait until it is ended itself.
    let no_hurry = CancellationToken::new();
    let mut answered = requests.answered(kind, body).await;
    while let Err(refusal) = &answered
        && patience.again(refusal, limit).await
    {
        let mut again = requests.clone();
        let api = again.api();
        *api = patience.turn(api, &no_hurry).into_owned();
        answered = again.answered(kind, body).await;
    }
    answered
}
