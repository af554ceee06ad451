//! Which chores are due.

use std::collections::HashSet;
use std::time::Duration;

use ferroflow_config::Settings;
use jiff::Timestamp;

use super::Report;

/// A chore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chore {
    /// [`super::dead_schedulers`].
    DeadSchedulers,
    /// [`super::orphans`].
    Orphans,
    /// [`super::heartbeats`].
    Heartbeats,
    /// [`super::stuck_tasks`].
    Stuck,
    /// [`super::deferred`].
    Deferred,
    /// [`super::awaiting_input`].
    AwaitingInput,
    /// [`super::paused_runs`].
    Paused,
    /// [`super::assets`].
    Assets,
    /// [`super::triggers`].
    Triggers,
    /// [`super::backfills`].
    Backfills,
    /// [`super::deadlines`].
    Deadlines,
    /// [`super::executor_callbacks`].
    ExecutorCallbacks,
    /// [`super::connection_tests`].
    ConnectionTests,
    /// [`super::stale_connection_tests`].
    StaleConnectionTests,
    /// [`super::pool_slots`].
    PoolSlots,
    /// [`super::task_counts`].
    TaskCounts,
    /// [`super::running_runs`].
    RunningRuns,
}

/// For how long the chores of every loop of Airflow's wait here.
const OFTEN: Duration = Duration::from_secs(1);

impl Chore {
    /// How people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::DeadSchedulers => "dead schedulers",
            Self::Orphans => "orphaned task instances",
            Self::Heartbeats => "task instances without heartbeat",
            Self::Stuck => "task instances stuck in queued",
            Self::Deferred => "deferred task instances that time out",
            Self::AwaitingInput => "task instances that nobody answers",
            Self::Paused => "runs of paused DAGs",
            Self::Assets => "assets in use",
            Self::Triggers => "triggers that nothing waits for",
            Self::Backfills => "completed backfills",
            Self::Deadlines => "missed deadlines",
            Self::ExecutorCallbacks => "callbacks for executors",
            Self::ConnectionTests => "connection tests",
            Self::StaleConnectionTests => "stale connection tests",
            Self::PoolSlots => "metrics of pools",
            Self::TaskCounts => "metrics of task instances",
            Self::RunningRuns => "metrics of runs",
        }
    }
}

/// All chores, and how often each is done.
fn table(settings: &Settings) -> Vec<(Chore, Duration)> {
    let (scheduler, metrics) = (&settings.scheduler, &settings.metrics);
    let mut table = vec![
        (Chore::DeadSchedulers, scheduler.scheduler_heartbeat_sec),
        (Chore::Orphans, scheduler.orphaned_tasks_check_interval),
        (Chore::Deferred, scheduler.trigger_timeout_check_interval),
        (Chore::AwaitingInput, scheduler.trigger_timeout_check_interval),
        (Chore::Backfills, Duration::from_secs(30)),
        (Chore::Heartbeats, scheduler.task_instance_heartbeat_timeout_detection_interval),
        (Chore::Paused, Duration::from_mins(1)),
        (Chore::Stuck, scheduler.task_queued_timeout_check_interval),
        (Chore::Assets, scheduler.parsing_cleanup_interval),
        (Chore::Triggers, scheduler.parsing_cleanup_interval),
        (Chore::StaleConnectionTests, settings.connection_test.reaper_interval),
        (Chore::Deadlines, OFTEN),
        (Chore::ConnectionTests, OFTEN),
        // There is no index to find them by, and a missed deadline tells that there is one.
        (Chore::ExecutorCallbacks, Duration::from_secs(30)),
    ];
    let is_sent = metrics.statsd_on || metrics.statsd_datadog_enabled || metrics.otel_on;
    // With the health check, Prometheus may ask for them.
    if is_sent || settings.traces.otel_on || scheduler.enable_health_check {
        table.extend([
            (Chore::PoolSlots, scheduler.pool_metrics_interval),
            (Chore::TaskCounts, scheduler.ti_metrics_interval),
            (Chore::RunningRuns, scheduler.dagrun_metrics_interval),
        ]);
    }
    table
}

/// Knows which chores are due: each for the first time after its interval, and again an interval after its end.
#[derive(Debug)]
pub struct Chores {
    slots: Vec<Slot>,
    /// Since when heartbeats are listened to without a gap.
    watching_since: Timestamp,
    last_watch: Timestamp,
    /// After so long without a look, it may be that nobody could be heard.
    longest_gap: Duration,
    /// Schedulers that have ended, as far as that is known already.
    ended: HashSet<i64>,
}

#[derive(Debug)]
struct Slot {
    chore: Chore,
    interval: Duration,
    due: Timestamp,
}

impl Chores {
    /// All chores, from `now` on.
    pub fn new(settings: &Settings, now: Timestamp) -> Self {
        let slot = |(chore, interval)| Slot { chore, interval, due: later(now, interval) };
        let interval = settings.scheduler.task_instance_heartbeat_timeout_detection_interval;
        let patience = settings.scheduler.task_instance_heartbeat_timeout / 4;
        Self {
            slots: table(settings).into_iter().map(slot).collect(),
            watching_since: now,
            last_watch: now,
            longest_gap: interval + patience,
            ended: HashSet::new(),
        }
    }

    /// Those that are due, the longest first.
    pub fn due(&self, now: Timestamp) -> Vec<Chore> {
        let mut due: Vec<&Slot> = self.slots.iter().filter(|slot| slot.due <= now).collect();
        due.sort_by_key(|slot| slot.due);
        due.into_iter().map(|slot| slot.chore).collect()
    }

    /// When the next one is due.
    pub fn next(&self) -> Option<Timestamp> {
        self.slots.iter().map(|slot| slot.due).min()
    }

    /// The clock was set back: nothing waits until it is as late as it was.
    pub fn clock_was_set_back(&mut self, now: Timestamp) {
        for slot in &mut self.slots {
            slot.due = slot.due.min(later(now, slot.interval));
        }
        (self.watching_since, self.last_watch) = (now, now);
    }

    /// Since when heartbeats are listened to without a gap: the loop may have stood still.
    pub fn watching_since(&mut self, now: Timestamp) -> Timestamp {
        if now > later(self.last_watch, self.longest_gap) {
            self.watching_since = now;
        }
        self.last_watch = now;
        self.watching_since
    }

    /// A chore has ended, well or not. What it has found may make another one due.
    pub fn ended(&mut self, chore: Chore, report: Option<&Report>, now: Timestamp) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.chore == chore) {
            slot.due = later(now, slot.interval);
        }
        match report {
            Some(Report::DeadSchedulers(found)) => {
                let gone: HashSet<i64> =
                    found.ended.iter().copied().chain(found.given_up.iter().map(|gone| gone.id)).collect();
                if gone.iter().any(|id| !self.ended.contains(id)) {
                    self.hasten(Chore::Orphans, now);
                    self.hasten(Chore::ExecutorCallbacks, now);
                }
                self.ended = gone;
            }
            Some(Report::Deadlines(found)) if found.has_executor_callbacks => {
                self.hasten(Chore::ExecutorCallbacks, now);
            }
            _ => {}
        }
    }

    /// Makes a chore due.
    pub fn hasten(&mut self, chore: Chore, now: Timestamp) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.chore == chore) {
            slot.due = slot.due.min(now);
        }
    }
}

fn later(now: Timestamp, duration: Duration) -> Timestamp {
    now.checked_add(duration).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chores::{DeadSchedulers, Deadlines};
    use ferroflow_config::{Configuration, Environment};
    use jiff::ToSpan as _;

    const START: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn settings() -> Settings {
        let environment = Environment::empty("/nowhere").with("AIRFLOW_HOME", "/nowhere");
        Settings::load(&Configuration::load(&environment).unwrap()).unwrap()
    }

    #[test]
    fn each_is_due_after_its_interval_and_again_an_interval_after_its_end() {
        let mut chores = Chores::new(&settings(), START);
        assert_eq!(chores.due(START), []);
        assert_eq!(chores.next(), Some(START + 1.second()));
        assert_eq!(chores.due(START + 1.second()), [Chore::Deadlines, Chore::ConnectionTests]);
        chores.ended(Chore::Deadlines, None, START + 10.seconds());
        let due = chores.due(START + 10.seconds());
        assert_eq!(due, [Chore::ConnectionTests, Chore::DeadSchedulers, Chore::Heartbeats]);
        assert!(chores.due(START + 11.seconds()).contains(&Chore::Deadlines));
        assert!(!chores.due(START + 299.seconds()).contains(&Chore::Orphans));
        assert!(chores.due(START + 300.seconds()).contains(&Chore::Orphans));
        assert!(chores.due(START + 300.seconds()).contains(&Chore::Stuck));
    }

    #[test]
    fn metrics_are_taken_only_for_somebody() {
        let is_taken = |settings: &Settings| {
            Chores::new(settings, START).due(START + 1.hour()).contains(&Chore::PoolSlots)
        };
        let mut settings = settings();
        assert!(!is_taken(&settings));
        settings.metrics.statsd_on = true;
        assert!(is_taken(&settings));
    }

    #[test]
    fn the_end_of_a_scheduler_hastens_the_look_for_orphans_once() {
        let mut chores = Chores::new(&settings(), START);
        let now = START + 5.seconds();
        let found = Report::DeadSchedulers(DeadSchedulers { ended: vec![7], ..DeadSchedulers::default() });
        chores.ended(Chore::DeadSchedulers, Some(&found), now);
        assert!(chores.due(now).contains(&Chore::Orphans));
        chores.ended(Chore::Orphans, None, now);
        chores.ended(Chore::DeadSchedulers, Some(&found), now);
        assert!(!chores.due(now).contains(&Chore::Orphans));
    }

    #[test]
    fn a_missed_deadline_hastens_the_callbacks_of_executors() {
        let mut chores = Chores::new(&settings(), START);
        let found = |has_executor_callbacks| {
            Report::Deadlines(Deadlines { has_executor_callbacks, ..Deadlines::default() })
        };
        chores.ended(Chore::Deadlines, Some(&found(false)), START);
        assert!(!chores.due(START).contains(&Chore::ExecutorCallbacks));
        chores.ended(Chore::Deadlines, Some(&found(true)), START);
        assert!(chores.due(START).contains(&Chore::ExecutorCallbacks));
    }

    #[test]
    fn a_clock_that_is_set_back_delays_nothing() {
        let mut chores = Chores::new(&settings(), START);
        let before = START - 1.hour();
        chores.clock_was_set_back(before);
        assert_eq!(chores.next(), Some(before + 1.second()));
        assert!(chores.due(before + 300.seconds()).contains(&Chore::Orphans));
        assert_eq!(chores.watching_since(before), before);
    }

    #[test]
    fn after_a_standstill_heartbeats_are_listened_to_anew() {
        let mut chores = Chores::new(&settings(), START);
        assert_eq!(chores.watching_since(START + 10.seconds()), START);
        // A quarter of the time-out is 75 seconds.
        assert_eq!(chores.watching_since(START + 95.seconds()), START);
        let late = START + 181.seconds();
        assert_eq!(chores.watching_since(late), late);
    }
}
