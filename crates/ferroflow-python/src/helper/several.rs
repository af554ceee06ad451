//! Several processes for one purpose: a question that hangs keeps one of them, and the others answer.

use std::iter::repeat_n;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{Helper, HelperError};
use crate::ForkServer;

/// Helpers for one purpose, each of which starts its process when it is needed.
pub(crate) struct Helpers {
    all: Vec<Helper>,
    /// As many as are free.
    seats: Semaphore,
    /// Which are free. The one that was used last is taken first: the others may never need a process.
    free: Mutex<Vec<usize>>,
}

impl Helpers {
    pub(crate) fn new(server: ForkServer, purpose: &str, number: usize) -> Self {
        Self {
            all: repeat_n(server, number).map(|server| Helper::new(server, purpose)).collect(),
            seats: Semaphore::new(number),
            free: Mutex::new((0..number).rev().collect()),
        }
    }

    /// A process that is free, as soon as there is one.
    pub(crate) async fn seat(&self) -> Seat<'_> {
        let permit = self.seats.acquire().await.expect("nobody closes it");
        Seat { all: &self.all, taken: Taken::new(&self.free), _permit: permit }
    }

    /// Ends the processes; the next calls start others.
    pub(crate) async fn restart(&self) {
        for helper in &self.all {
            helper.restart().await;
        }
    }
}

/// A helper of one's own. It is free before the next caller is let in.
pub(crate) struct Seat<'a> {
    all: &'a [Helper],
    taken: Taken<'a>,
    _permit: SemaphorePermit<'a>,
}

impl Seat<'_> {
    /// Calls a function of the Python side. The limit counts from now on.
    pub(crate) async fn call(
        mut self,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, HelperError> {
        self.taken.has_no_process = true;
        let answer = self.all[self.taken.place].call(method, params, limit).await;
        self.taken.has_no_process = answer.as_ref().is_err_and(HelperError::cost_a_process);
        answer
    }
}

/// A helper that is not free. It is when this is dropped, also by a caller that does not wait any longer.
struct Taken<'a> {
    place: usize,
    /// Whether it has no process that could answer at once: those that have one come first.
    has_no_process: bool,
    free: &'a Mutex<Vec<usize>>,
}

impl<'a> Taken<'a> {
    fn new(free: &'a Mutex<Vec<usize>>) -> Self {
        let place = locked(free).pop().expect("there are as many seats as helpers that are free");
        Self { place, has_no_process: false, free }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut free = locked(self.free);
        if self.has_no_process {
            free.insert(0, self.place);
        } else {
            free.push(self.place);
        }
    }
}

/// Every change is one insertion or removal: what is guarded stays whole.
fn locked(free: &Mutex<Vec<usize>>) -> std::sync::MutexGuard<'_, Vec<usize>> {
    free.lock().unwrap_or_else(PoisonError::into_inner)
}
