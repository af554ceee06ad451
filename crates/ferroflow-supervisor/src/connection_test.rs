//! One connection that is tried.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_execution::api::{ExecutionApi, TestOutcome};
use ferroflow_execution::wire::{Client, ConnectionTestRequests, ReportedTest};
use ferroflow_execution::{MaskRules, Masker, Patience, Refusal};
use ferroflow_python::message::map;
use ferroflow_python::{ChildLimits, Entry, Remains, Sink, Stream, serve};
use ferroflow_telemetry::chain;
use rmpv::Value;

use uuid::Uuid;

use crate::TestConnection;
use crate::room::when_there_is_room;
use crate::supervise::{GRACE, Supervision};

/// So much longer than `[connection_test] timeout` its process may take: it ends the test itself before.
const LEEWAY: Duration = Duration::from_secs(15);

impl Supervision {
    /// Tests a connection. What comes of it, its process reports; if it does not, that is reported. Answers what is left
    /// of a process that cannot be killed.
    pub async fn try_connection(&self, workload: &TestConnection) -> Option<Remains> {
        let api = self.api.of_workload("");
        let (reported, mut remains) = (ReportedTest::default(), None);
        if let Err(reason) = self.try_to_try_connection(workload, &api, &reported, &mut remains).await {
            // It may have reported while its row was locked, and be ended because that took long.
            let outcome = reported.outcome().unwrap_or_else(|| {
                tracing::warn!(id = %workload.id, connection = workload.connection_id, reason, "a connection is not tried");
                let message = Some(format!("The connection could not be tried: {reason}."));
                TestOutcome { is_good: false, message }
            });
            if let Err(refusal) = self.note_test(workload.id, &api, &outcome).await {
                tracing::error!(id = %workload.id, "the result of a connection test cannot be reported: {}", chain(&refusal));
            }
        }
        remains
    }

    async fn note_test(
        &self,
        id: Uuid,
        api: &Arc<dyn ExecutionApi>,
        outcome: &TestOutcome,
    ) -> Result<(), Refusal> {
        let mut patience = Patience::new("the end of a connection test");
        loop {
            match patience.turn(api, &self.hurry).end_connection_test(id, outcome).await {
                // What it reported is stored.
                Err(refusal) if refusal.status() == Some(409) => return Ok(()),
                Err(refusal) if patience.again_until(&refusal, &self.hurry).await => {}
                answered => return answered,
            }
        }
    }

    async fn try_to_try_connection(
        &self,
        workload: &TestConnection,
        api: &Arc<dyn ExecutionApi>,
        reported: &ReportedTest,
        remains: &mut Option<Remains>,
    ) -> Result<(), String> {
        let masker = Arc::new(Masker::new(MaskRules::of(&self.settings)));
        let sink: Arc<dyn Sink> = Arc::new(TestLog { test: workload.id, masker: Arc::clone(&masker) });
        let fork = || self.python.fork(Entry::ConnectionTest, ChildLimits::default(), &sink);
        let forked = when_there_is_room("a test of a connection", fork).await;
        let mut child = forked.map_err(|error| chain(&error))?;
        let timeout = self.settings.connection_test.timeout;
        let first = map([
            ("id", workload.id.to_string().into()),
            ("connection_id", workload.connection_id.as_str().into()),
            ("timeout", Value::from(timeout.as_secs())),
        ]);
        let client = Client { api: Arc::clone(api), masker };
        let (test, reported) = (workload.id, reported.clone());
        let requests = ConnectionTestRequests { client, test, reported };
        let served = tokio::time::timeout(timeout + LEEWAY, serve(&mut child, first, &requests)).await;
        match served {
            Ok(Ok(exit)) if exit.status.success() => Ok(()),
            Ok(Ok(exit)) => Err(format!("its process ended with {}", exit.status)),
            Ok(Err(error)) => Err(chain(&error)),
            Err(_) => {
                drop(child.terminate(GRACE).await);
                *remains = child.into_remains();
                Err(format!("its process took longer than {} s and was ended", timeout.as_secs()))
            }
        }
    }
}

/// What is said while a connection is tried is in the scheduler's log.
struct TestLog {
    test: Uuid,
    masker: Arc<Masker>,
}

impl Sink for TestLog {
    fn line(&self, _: Stream, line: &str) {
        tracing::info!(test = %self.test, "{}", self.masker.redact(line));
    }

    fn cut(&self, line: &str) -> usize {
        self.masker.uncut(line)
    }
}
