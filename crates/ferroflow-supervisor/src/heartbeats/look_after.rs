//! The heartbeats of what runs, and beside them the looks at whether it should.
//!
//! All tasks of an executor are told of together: one statement, however many run. It is looked more often whether somebody
//! has cleared or marked one of them, so that this takes a second to be noticed, not a heartbeat. Neither waits for the
//! other: a look needs more tables, and what keeps it (a history that is locked as a whole, say) keeps no heartbeat.

use std::pin::pin;
use std::time::Duration;

use ferroflow_execution::Refusal;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use uuid::Uuid;

use super::{Running, Ticket};
use crate::supervise::Supervision;

/// How soon it is noticed that a task is not wanted any more.
const LOOK: Duration = Duration::from_secs(1);

/// How long the database may take for an answer before that is told.
const ANSWER: Duration = Duration::from_secs(10);

/// Looks after what runs, without end. Costs nothing while nothing runs.
pub async fn look_after(supervision: &Supervision, running: &Running) {
    let settings = &supervision.settings;
    let times = Times {
        look: LOOK,
        between_beats: settings.workers.min_heartbeat_interval,
        limit: settings.scheduler.task_instance_heartbeat_timeout,
    };
    tokio::join!(Box::pin(beat(supervision, running, times)), Box::pin(look(supervision, running, times)));
}

/// Where it is told that tasks live, and looked whether they should.
trait Rows: Sync {
    /// They live. Answers whose rows do not take that.
    fn beat(
        &self,
        processes: &[(Uuid, i32)],
    ) -> impl Future<Output = Result<Vec<(Uuid, i32)>, Refusal>> + Send;

    /// Those that should not, or not as these processes.
    fn unwanted(
        &self,
        processes: &[(Uuid, i32)],
    ) -> impl Future<Output = Result<Vec<(Uuid, i32, Refusal)>, Refusal>> + Send;
}

impl Rows for Supervision {
    async fn beat(&self, processes: &[(Uuid, i32)]) -> Result<Vec<(Uuid, i32)>, Refusal> {
        self.service.beat(&self.host.name, processes).await
    }

    async fn unwanted(&self, processes: &[(Uuid, i32)]) -> Result<Vec<(Uuid, i32, Refusal)>, Refusal> {
        self.service.no_longer_running_as(&self.host.name, processes).await
    }
}

#[derive(Clone, Copy, Debug)]
struct Times {
    /// How soon it is looked again,
    look: Duration,
    /// and how soon it is told again that tasks live.
    between_beats: Duration,
    /// Who was not heard of for so long may be taken for dead.
    limit: Duration,
}

async fn beat(rows: &impl Rows, running: &Running, times: Times) {
    let mut since = Stopwatch::start();
    let mut is_any_left = false;
    loop {
        tokio::time::sleep(times.look).await;
        // As soon as somebody lets go of a row it tells that its task lives: others may look at it, too.
        if is_any_left || since.elapsed() >= times.between_beats {
            let beating = running.beating(true);
            let processes = processes(&beating);
            if processes.is_empty() {
                is_any_left = false;
                continue;
            }
            let beat = rows.beat(&processes);
            match answer(beat, "heartbeats of tasks wait", || running.give_up(times.limit)).await {
                Ok(untaken) => {
                    since = Stopwatch::start();
                    is_any_left = running.heard(&beating, &untaken);
                }
                Err(refusal) => tracing::warn!("heartbeats of tasks fail: {}", chain(&refusal)),
            }
        }
        running.give_up(times.limit);
    }
}

async fn look(rows: &impl Rows, running: &Running, times: Times) {
    loop {
        tokio::time::sleep(times.look).await;
        let beating = running.beating(false);
        let processes = processes(&beating);
        if processes.is_empty() {
            continue;
        }
        let looked = rows.unwanted(&processes);
        match answer(looked, "a look for tasks that were cleared or marked waits", || {}).await {
            Ok(refused) => turn_away(running, &beating, &refused),
            Err(refusal) => {
                tracing::warn!("a look for tasks that were cleared or marked fails: {}", chain(&refusal));
            }
        }
    }
}

fn processes(beating: &[(Ticket, Uuid, i32)]) -> Vec<(Uuid, i32)> {
    beating.iter().map(|(_, id, pid)| (*id, *pid)).collect()
}

/// Waits for the answer, however long the database takes: whoever left a statement alone would leave its connection and
/// what that has locked, too.
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
                tracing::warn!("{what_waits} for the database");
                meanwhile();
            }
        }
    }
}

/// Another stay of the same task instance may be wanted.
fn turn_away(running: &Running, beating: &[(Ticket, Uuid, i32)], refused: &[(Uuid, i32, Refusal)]) {
    for (id, pid, refusal) in refused {
        tracing::debug!(%id, pid, "a task is not to run any more: {}", chain(refusal));
        let tickets = beating.iter().filter(|(_, beating, process)| (beating, process) == (id, pid));
        tickets.for_each(|(ticket, ..)| running.turn_away_stay(*ticket));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ferroflow_model::supervision::EndOrder;
    use tokio::sync::Notify;

    use super::*;

    /// A database whose looks never come to an end.
    #[derive(Default)]
    struct Locked {
        looks: AtomicUsize,
        /// As many beats as came after the first look.
        beats: AtomicUsize,
        enough: Notify,
    }

    impl Rows for Locked {
        async fn beat(&self, processes: &[(Uuid, i32)]) -> Result<Vec<(Uuid, i32)>, Refusal> {
            assert_eq!(processes, [(Uuid::from_u128(1), 7)]);
            if self.looks.load(Ordering::Relaxed) > 0 && self.beats.fetch_add(1, Ordering::Relaxed) == 5 {
                self.enough.notify_one();
            }
            Ok(Vec::new())
        }

        async fn unwanted(&self, _: &[(Uuid, i32)]) -> Result<Vec<(Uuid, i32, Refusal)>, Refusal> {
            self.looks.fetch_add(1, Ordering::Relaxed);
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_look_that_hangs_keeps_no_heartbeat() {
        let (rows, running) = (Locked::default(), Running::default());
        let (ticket, orders) = running.add(Uuid::from_u128(1));
        running.started(ticket, 7);
        let limit = Duration::from_mins(5);
        let times = Times { look: Duration::from_millis(1), between_beats: Duration::ZERO, limit };
        tokio::select! {
            () = beat(&rows, &running, times) => {}
            () = look(&rows, &running, times) => {}
            () = rows.enough.notified() => {}
        }
        assert_eq!((rows.looks.load(Ordering::Relaxed), *orders.borrow()), (1, None), "one look at a time");
    }

    #[test]
    fn only_the_process_that_is_refused_is_turned_away() {
        let running = Running::default();
        let id = Uuid::from_u128(1);
        let ((old, old_orders), (new, new_orders)) = (running.add(id), running.add(id));
        running.started(old, 7);
        running.started(new, 8);
        turn_away(&running, &running.beating(true), &[(id, 7, Refusal::Unhandled)]);
        assert_eq!((*old_orders.borrow(), *new_orders.borrow()), (Some(EndOrder::Unwanted), None));
    }
}
