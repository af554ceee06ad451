//! The heartbeats of what runs, and between them the looks for what is not to run any more.
//!
//! Heartbeats of all tasks of an executor go together. The looks come more often, so that it takes a second until a task
//! that was cleared or marked is ended, not a heartbeat. Neither waits for the other: a look needs more tables, and a lock
//! that keeps it waiting (on the whole history, say) keeps no heartbeat.

use std::pin::pin;
use std::time::Duration;

use ferroflow_execution::Refusal;
use ferroflow_execution::api::{Process, Unheard};
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;

use crate::running::{Running, Ticket};
use crate::supervise::Supervision;

/// How soon it is noticed that a task is not to run any more.
const LOOK: Duration = Duration::from_secs(1);

/// How long the API may take for an answer before that is logged.
const ANSWER: Duration = Duration::from_secs(10);

/// Sends heartbeats of what runs, and ends what is not to run any more, without end. Costs nothing while nothing runs.
pub async fn send_heartbeats(supervision: &Supervision, running: &Running) {
    let settings = &supervision.settings;
    let times = Times {
        look: LOOK,
        between_beats: settings.workers.min_heartbeat_interval,
        limit: settings.scheduler.task_instance_heartbeat_timeout,
    };
    tokio::join!(Box::pin(beat(supervision, running, times)), Box::pin(look(supervision, running, times)));
}

/// Where heartbeats go.
trait Heartbeats: Sync {
    fn beat(
        &self,
        processes: &[Process],
    ) -> impl Future<Output = Result<Vec<(Process, Unheard)>, Refusal>> + Send;

    fn not_to_run(
        &self,
        processes: &[Process],
    ) -> impl Future<Output = Result<Vec<(Process, Refusal)>, Refusal>> + Send;
}

impl Heartbeats for Supervision {
    async fn beat(&self, processes: &[Process]) -> Result<Vec<(Process, Unheard)>, Refusal> {
        self.api.heartbeats(&self.host.name, processes).await
    }

    async fn not_to_run(&self, processes: &[Process]) -> Result<Vec<(Process, Refusal)>, Refusal> {
        self.api.not_to_run(&self.host.name, processes).await
    }
}

#[derive(Clone, Copy, Debug)]
struct Times {
    /// Between two looks.
    look: Duration,
    between_beats: Duration,
    /// A task instance without heartbeats for so long may be taken for dead.
    limit: Duration,
}

async fn beat(api: &impl Heartbeats, running: &Running, times: Times) {
    let mut since = Stopwatch::start();
    let mut is_any_left = false;
    loop {
        tokio::time::sleep(times.look).await;
        // A row that was locked is tried again soon: others may look at it, too, once it is not.
        if is_any_left || since.elapsed() >= times.between_beats {
            let beating = running.beating();
            let processes = processes(&beating);
            if processes.is_empty() {
                is_any_left = false;
                continue;
            }
            let beat = api.beat(&processes);
            match answer(beat, "heartbeats of tasks wait", || running.give_up(times.limit)).await {
                Ok(unheard) => {
                    since = Stopwatch::start();
                    is_any_left = heard(running, &beating, unheard);
                }
                Err(refusal) => tracing::warn!("heartbeats of tasks fail: {}", chain(&refusal)),
            }
        }
        running.give_up(times.limit);
    }
}

async fn look(api: &impl Heartbeats, running: &Running, times: Times) {
    loop {
        tokio::time::sleep(times.look).await;
        let beating = running.in_rows();
        let processes = processes(&beating);
        if processes.is_empty() {
            continue;
        }
        let looked = api.not_to_run(&processes);
        match answer(looked, "a look for tasks that were cleared or marked waits", || {}).await {
            Ok(refused) => turn_away(running, &beating, &refused),
            Err(refusal) => {
                tracing::warn!("a look for tasks that were cleared or marked fails: {}", chain(&refusal));
            }
        }
    }
}

fn processes(beating: &[(Ticket, Process)]) -> Vec<Process> {
    beating.iter().map(|(_, process)| *process).collect()
}

/// Notes which processes the API has heard of, and ends those that it refuses. Answers whether heartbeats are to be
/// repeated soon.
fn heard(running: &Running, beating: &[(Ticket, Process)], unheard: Vec<(Process, Unheard)>) -> bool {
    let (mut not_taken, mut failed, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for (process, why) in unheard {
        match why {
            Unheard::NotTaken => not_taken.push(process),
            Unheard::Refused(refusal) => refused.push((process, refusal)),
            Unheard::Failed(refusal) => {
                tracing::warn!(id = %process.id, "a heartbeat fails: {}", chain(&refusal));
                failed.push(process);
            }
        }
    }
    turn_away(running, beating, &refused);
    let reached: Vec<_> = beating.iter().filter(|(_, process)| !failed.contains(process)).copied().collect();
    let is_any_left = running.heard(&reached, &not_taken);
    is_any_left || !failed.is_empty()
}

/// Waits for the answer, however long that takes: in the database, a statement that is abandoned leaves its connection and
/// its locks behind.
async fn answer<T>(
    asking: impl Future<Output = Result<T, Refusal>>,
    what_waits: &str,
    meanwhile: impl Fn(),
) -> Result<T, Refusal> {
    let mut asking = pin!(asking);
    loop {
        tokio::select! {
            answered = &mut asking => return answered,
            () = tokio::time::sleep(ANSWER) => {
                tracing::warn!("{what_waits} for an answer");
                meanwhile();
            }
        }
    }
}

/// Ends the processes that are refused, and no other of the same task instance.
fn turn_away(running: &Running, beating: &[(Ticket, Process)], refused: &[(Process, Refusal)]) {
    for (process, refusal) in refused {
        let Process { id, pid } = process;
        tracing::debug!(%id, pid, "a task is not to run any more: {}", chain(refusal));
        let tickets = beating.iter().filter(|(_, beating)| beating == process);
        tickets.for_each(|(ticket, _)| running.turn_away_entry(*ticket));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ferroflow_model::supervision::EndOrder;
    use tokio::sync::Notify;
    use uuid::Uuid;

    use super::*;

    /// A database whose looks never come to an end.
    #[derive(Default)]
    struct Locked {
        looks: AtomicUsize,
        /// As many beats as came after the first look.
        beats: AtomicUsize,
        enough: Notify,
    }

    impl Heartbeats for Locked {
        async fn beat(&self, processes: &[Process]) -> Result<Vec<(Process, Unheard)>, Refusal> {
            assert_eq!(processes, [Process { id: Uuid::from_u128(1), pid: 7 }]);
            if self.looks.load(Ordering::Relaxed) > 0 && self.beats.fetch_add(1, Ordering::Relaxed) == 5 {
                self.enough.notify_one();
            }
            Ok(Vec::new())
        }

        async fn not_to_run(&self, _: &[Process]) -> Result<Vec<(Process, Refusal)>, Refusal> {
            self.looks.fetch_add(1, Ordering::Relaxed);
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_look_that_hangs_keeps_no_heartbeat() {
        let (api, running) = (Locked::default(), Running::default());
        let (ticket, orders) = running.take_up(Uuid::from_u128(1));
        running.started(ticket, 7);
        let limit = Duration::from_mins(5);
        let times = Times { look: Duration::from_millis(1), between_beats: Duration::ZERO, limit };
        tokio::select! {
            () = beat(&api, &running, times) => {}
            () = look(&api, &running, times) => {}
            () = api.enough.notified() => {}
        }
        assert_eq!((api.looks.load(Ordering::Relaxed), *orders.borrow()), (1, None), "one look at a time");
    }

    #[test]
    fn only_the_process_that_is_refused_is_turned_away() {
        let running = Running::default();
        let id = Uuid::from_u128(1);
        let ((old, old_orders), (new, new_orders)) = (running.take_up(id), running.take_up(id));
        running.started(old, 7);
        running.started(new, 8);
        turn_away(&running, &running.beating(), &[(Process { id, pid: 7 }, Refusal::Unhandled)]);
        assert_eq!((*old_orders.borrow(), *new_orders.borrow()), (Some(EndOrder::Unwanted), None));
    }
}
