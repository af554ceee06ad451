//! A write that the database has refused is tried again, later every time: whatever is in the way, it does not cost more
//! the longer it stays there.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use jiff::{SignedDuration, Timestamp};

/// After so long it is tried again, and after twice as long every time.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);
const MAX_PAUSE: SignedDuration = SignedDuration::from_mins(1);

/// What is to wait.
#[derive(Clone, Debug)]
pub(crate) struct RetryLater<K>(HashMap<K, Waits>);

#[derive(Clone, Copy, Debug)]
struct Waits {
    pause: SignedDuration,
    due: Timestamp,
    /// Whether it was taken to be tried again.
    is_taken: bool,
}

impl<K> Default for RetryLater<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash + Clone> RetryLater<K> {
    /// The database has refused it, perhaps once more. What was not tried again for long is forgotten.
    pub(crate) fn refused(&mut self, key: K, now: Timestamp) {
        self.0.retain(|_, waits| now.duration_since(waits.due) < MAX_PAUSE * 2);
        let pause = self.0.get(&key).map_or(FIRST_PAUSE, |waits| (waits.pause * 2).min(MAX_PAUSE));
        let due = now.checked_add(pause).unwrap_or(Timestamp::MAX);
        self.0.insert(key, Waits { pause, due, is_taken: false });
    }

    /// It is written.
    pub(crate) fn done<Q: Eq + Hash + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.0.remove(key);
    }

    /// Whether it is not to be tried yet. What was taken to be tried is not put off, whatever becomes of the clock.
    pub(crate) fn has_to_wait<Q: Eq + Hash + ?Sized>(&self, key: &Q, now: Timestamp) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.get(key).is_some_and(|waits| !waits.is_taken && !waits.is_due(now))
    }

    /// All that is not to be tried yet.
    pub(crate) fn waiting(&self, now: Timestamp) -> impl Iterator<Item = &K> {
        self.0.iter().filter(move |(_, waits)| !waits.is_due(now)).map(|(key, _)| key)
    }

    /// Takes what is due to be tried again, each once.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Vec<K> {
        let due = self.0.iter_mut().filter(|(_, waits)| !waits.is_taken && waits.is_due(now));
        due.map(|(key, waits)| {
            waits.is_taken = true;
            key.clone()
        })
        .collect()
    }
}

impl Waits {
    fn is_due(&self, now: Timestamp) -> bool {
        // One that is due much later was put off before the clock was set back.
        self.due <= now || self.due.duration_since(now) > MAX_PAUSE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn at(seconds: i64) -> Timestamp {
        START + SignedDuration::from_secs(seconds)
    }

    #[test]
    fn what_is_refused_is_tried_later_every_time() {
        let mut put_off = RetryLater::<&str>::default();
        let mut tried = Vec::new();
        for second in 0..200 {
            if !put_off.has_to_wait("a", at(second)) {
                tried.push(second);
                put_off.refused("a", at(second));
            }
        }
        assert_eq!(tried, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
        assert_eq!(put_off.waiting(at(184)).collect::<Vec<_>>(), [&"a"]);
        assert!(!put_off.has_to_wait("a", START), "the clock was set back");
        put_off.done("a");
        assert_eq!(put_off.waiting(at(184)).count(), 0);
    }

    #[test]
    fn what_is_due_is_taken_once_and_forgotten_when_it_is_not_tried() {
        let mut put_off = RetryLater::<&str>::default();
        put_off.refused("a", START);
        assert!(put_off.take_due(START).is_empty());
        assert_eq!(put_off.take_due(at(1)), ["a"]);
        assert!(put_off.take_due(at(2)).is_empty(), "it is being tried");
        assert!(!put_off.has_to_wait("a", START), "also after the clock was set back");
        put_off.refused("a", at(2));
        assert_eq!(put_off.take_due(at(4)), ["a"], "twice as long after");
        put_off.refused("b", at(300));
        assert_eq!(put_off.0.len(), 1);
    }
}
