//! Helpers: Python processes that stay, and answer questions about extension points.
//!
//! A helper is for one purpose: a bundle that hangs must not keep timetables waiting. It answers one question at a
//! time; one that takes too long or dies is replaced, and the next question finds a fresh process. Where questions must
//! not wait for each other, there are several ([`Helpers`]).

mod error;
mod process;
mod several;

use std::time::Duration;

use ferroflow_telemetry::clock;
use jiff::{RoundMode, SignedDuration, Timestamp, Unit};
use serde_json::{Value, json};
use tokio::sync::Mutex;

pub(crate) use error::read;
pub use error::{HelperError, PythonError};
pub(crate) use several::{Helpers, Seat};

use crate::ForkServer;
use process::HelperProcess;

/// The least pause before a process is started that follows on one that died; it doubles with each that dies
/// without having answered anything,
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// up to this.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// A Python process for one purpose, started when it is needed.
pub struct Helper {
    purpose: String,
    server: ForkServer,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    process: Option<HelperProcess>,
    last_id: u64,
    /// How many processes in a row ended without an answer.
    deaths: u32,
    /// When the last of them did.
    died: Option<Timestamp>,
}

impl Helper {
    /// A helper that starts its process when it is first asked. The purpose is for messages.
    pub fn new(server: ForkServer, purpose: impl Into<String>) -> Self {
        Self { purpose: purpose.into(), server, state: Mutex::default() }
    }

    /// Calls a function of the Python side. The limit counts from when the helper is free.
    ///
    /// If it is passed, or this is dropped before it is ready, the process is ended. A question that is lost with the
    /// fork server is asked again, once.
    pub async fn call(&self, method: &str, params: Value, limit: Duration) -> Result<Value, HelperError> {
        let mut state = self.state.lock().await;
        match self.call_once(&mut state, method, &params, limit).await {
            Err(HelperError::ServerLost { .. }) => self.call_once(&mut state, method, &params, limit).await,
            other => other,
        }
    }

    async fn call_once(
        &self,
        state: &mut State,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, HelperError> {
        let mut process = match state.process.take() {
            Some(process) => process,
            None => self.start_anew(state, limit).await?,
        };
        state.last_id += 1;
        let request = json!({"id": state.last_id, "method": method, "params": params});
        // Taken out of the state: whatever happens from here on, a process with an answer due is not used again.
        let Ok(answered) = tokio::time::timeout(limit, process.ask(&request)).await else {
            process.end().await;
            // What took so long is no process that cannot be started: the next one may be good at once.
            return Err(HelperError::TimedOut { purpose: self.purpose.clone(), limit });
        };
        match answered {
            Ok(answer) => {
                state.deaths = 0;
                let result = error::result_of(&self.purpose, state.last_id, answer);
                if !matches!(result, Err(HelperError::Malformed { .. })) {
                    state.process = Some(process);
                }
                result
            }
            Err(problem) => {
                let purpose = self.purpose.clone();
                let Some(how) = process.end().await else {
                    return Err(HelperError::ServerLost { purpose });
                };
                state.note_death();
                Err(HelperError::Died { purpose, how, problem })
            }
        }
    }

    /// Ends the process, if there is one; the next call starts another. For when plugins have changed: a process
    /// keeps those that it has loaded.
    pub async fn restart(&self) {
        let mut state = self.state.lock().await;
        if let Some(mut process) = state.process.take() {
            process.end().await;
        }
        state.deaths = 0;
    }

    async fn start_anew(&self, state: &mut State, limit: Duration) -> Result<HelperProcess, HelperError> {
        let now = clock::now();
        let pause = state.pause(now);
        if pause > limit {
            let (purpose, deaths) = (self.purpose.clone(), state.deaths);
            return Err(HelperError::BackingOff { purpose, deaths, until: whole_second(now, pause) });
        }
        tokio::time::sleep(pause).await;
        HelperProcess::start(&self.server, &self.purpose).await.map_err(|source| {
            state.note_death();
            HelperError::NotStarted { purpose: self.purpose.clone(), source }
        })
    }
}

impl State {
    fn note_death(&mut self) {
        self.deaths = self.deaths.saturating_add(1);
        self.died = Some(clock::now());
    }

    /// How long to wait before the next process is started. The first that dies is replaced at once.
    fn pause(&self, now: Timestamp) -> Duration {
        let (Some(died), 2..) = (self.died, self.deaths) else {
            return Duration::ZERO;
        };
        let doubled = FIRST_PAUSE.saturating_mul(1 << (self.deaths - 2).min(16));
        let pause = doubled.min(MAX_PAUSE);
        // A clock that was set back counts as no time gone by.
        let gone = now.duration_since(died).max(SignedDuration::ZERO).unsigned_abs();
        pause.saturating_sub(gone)
    }
}

/// The time after a pause, as a person reads it: a reason that is told twice is the same both times.
pub(crate) fn whole_second(now: Timestamp, pause: Duration) -> Timestamp {
    let until = now.checked_add(pause).unwrap_or(Timestamp::MAX);
    until.round(jiff::TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Ceil)).unwrap_or(until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_pass() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let state = |deaths| State { deaths, died: Some(at(1000)), ..State::default() };
        assert_eq!(state(1).pause(at(1000)), Duration::ZERO);
        assert_eq!(state(2).pause(at(1000)), FIRST_PAUSE);
        assert_eq!(state(4).pause(at(1000)), FIRST_PAUSE * 4);
        assert_eq!(state(40).pause(at(1000)), MAX_PAUSE);
        assert_eq!(state(40).pause(at(1010)), Duration::from_secs(20));
        assert_eq!(state(40).pause(at(2000)), Duration::ZERO);
        assert_eq!(state(40).pause(at(10)), MAX_PAUSE, "the clock was set back");
    }
}
