//! Which chores are due.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use ferroflow_config::Settings;
use jiff::Timestamp;

use super::{ALL, FollowUp};

/// Knows which chores are due: each for the first time after its interval, and again an interval after its end.
#[derive(Debug)]
pub(crate) struct Chores {
    slots: Vec<Slot>,
    /// Since when heartbeats are listened to without a gap.
    watching_since: Timestamp,
    last_watch: Timestamp,
    /// After so long without a look, it may be that no heartbeat could be stored.
    longest_gap: Duration,
    /// For what each has made others due when it was last done.
    causes: HashMap<&'static str, BTreeSet<i64>>,
}

#[derive(Debug)]
struct Slot {
    name: &'static str,
    interval: Duration,
    due: Timestamp,
}

impl Chores {
    /// All chores, from `now` on.
    pub(crate) fn new(settings: &Settings, now: Timestamp) -> Self {
        let slot = |name, interval| Slot { name, interval, due: later(now, interval) };
        let chores = ALL.iter();
        let interval = settings.scheduler.task_instance_heartbeat_timeout_detection_interval;
        let patience = settings.scheduler.task_instance_heartbeat_timeout / 4;
        Self {
            slots: chores.filter_map(|chore| Some(slot(chore.name, (chore.every)(settings)?))).collect(),
            watching_since: now,
            last_watch: now,
            longest_gap: interval + patience,
            causes: HashMap::new(),
        }
    }

    /// Those that are due, the longest first.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<&'static str> {
        let mut due: Vec<&Slot> = self.slots.iter().filter(|slot| slot.due <= now).collect();
        due.sort_by_key(|slot| slot.due);
        due.into_iter().map(|slot| slot.name).collect()
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.slots.iter().map(|slot| slot.due).min()
    }

    /// The clock was set back: nothing waits until it is as late as it was.
    pub(crate) fn clock_was_set_back(&mut self, now: Timestamp) {
        for slot in &mut self.slots {
            slot.due = slot.due.min(later(now, slot.interval));
        }
        (self.watching_since, self.last_watch) = (now, now);
    }

    /// Since when heartbeats are listened to without a gap: the loop may have stood still.
    pub(crate) fn watching_since(&mut self, now: Timestamp) -> Timestamp {
        if now > later(self.last_watch, self.longest_gap) {
            self.watching_since = now;
        }
        self.last_watch = now;
        self.watching_since
    }

    /// A chore has ended, well or not. What it has found may make others due.
    pub(crate) fn ended(&mut self, name: &'static str, follow_up: Option<&FollowUp>, now: Timestamp) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.name == name) {
            slot.due = later(now, slot.interval);
        }
        let Some(FollowUp { hastens, hastens_for, .. }) = follow_up else { return };
        if let Some(causes) = hastens_for {
            let known = self.causes.insert(name, causes.clone()).unwrap_or_default();
            if causes.is_subset(&known) {
                return;
            }
        }
        hastens.iter().for_each(|other| self.hasten(other, now));
    }

    /// Makes a chore due.
    pub(crate) fn hasten(&mut self, name: &str, now: Timestamp) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.name == name) {
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
    use crate::chores::connection_tests::CHORE as CONNECTION_TESTS;
    use crate::chores::dead_schedulers::CHORE as DEAD_SCHEDULERS;
    use crate::chores::deadlines::CHORE as DEADLINES;
    use crate::chores::executor_callbacks::CHORE as EXECUTOR_CALLBACKS;
    use crate::chores::gauges::POOL_SLOTS;
    use crate::chores::heartbeats::CHORE as HEARTBEATS;
    use crate::chores::orphans::CHORE as ORPHANS;
    use crate::chores::stuck::CHORE as STUCK;
    use crate::chores::{DeadSchedulers, Deadlines, Report as _};
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
        assert!(chores.due(START).is_empty());
        assert_eq!(chores.next(), Some(START + 1.second()));
        assert_eq!(chores.due(START + 1.second()), [DEADLINES.name, CONNECTION_TESTS.name]);
        chores.ended(DEADLINES.name, None, START + 10.seconds());
        let due = chores.due(START + 10.seconds());
        assert_eq!(due, [CONNECTION_TESTS.name, DEAD_SCHEDULERS.name, HEARTBEATS.name]);
        assert!(chores.due(START + 11.seconds()).contains(&DEADLINES.name));
        assert!(!chores.due(START + 299.seconds()).contains(&ORPHANS.name));
        assert!(chores.due(START + 300.seconds()).contains(&ORPHANS.name));
        assert!(chores.due(START + 300.seconds()).contains(&STUCK.name));
    }

    #[test]
    fn metrics_are_taken_only_where_they_are_read() {
        let is_taken = |settings: &Settings| {
            Chores::new(settings, START).due(START + 1.hour()).contains(&POOL_SLOTS.name)
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
        let found = DeadSchedulers { ended: vec![7], ..DeadSchedulers::default() }.follow_up();
        chores.ended(DEAD_SCHEDULERS.name, Some(&found), now);
        assert!(chores.due(now).contains(&ORPHANS.name));
        chores.ended(ORPHANS.name, None, now);
        chores.ended(DEAD_SCHEDULERS.name, Some(&found), now);
        assert!(!chores.due(now).contains(&ORPHANS.name));
    }

    #[test]
    fn a_missed_deadline_hastens_the_callbacks_of_executors() {
        let mut chores = Chores::new(&settings(), START);
        let found =
            |has_executor_callbacks| Deadlines { has_executor_callbacks, ..Deadlines::default() }.follow_up();
        chores.ended(DEADLINES.name, Some(&found(false)), START);
        assert!(!chores.due(START).contains(&EXECUTOR_CALLBACKS.name));
        chores.ended(DEADLINES.name, Some(&found(true)), START);
        assert!(chores.due(START).contains(&EXECUTOR_CALLBACKS.name));
    }

    #[test]
    fn a_clock_that_is_set_back_delays_nothing() {
        let mut chores = Chores::new(&settings(), START);
        let before = START - 1.hour();
        chores.clock_was_set_back(before);
        assert_eq!(chores.next(), Some(before + 1.second()));
        assert!(chores.due(before + 300.seconds()).contains(&ORPHANS.name));
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
