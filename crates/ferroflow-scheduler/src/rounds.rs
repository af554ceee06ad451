//! Which of the runs that are looked after are compared with their rows, at one look.
//!
//! All of them, if they are few. Of many each look takes a part, so that a look costs much the same whenever it is, and
//! no run waits for longer than a round takes. What schedulers tell each other does not wait for that.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

/// So many rows are read at every look.
const LEAST_ROWS: usize = 5_000;

/// So long it takes until all were looked at, however many they are.
const ROUND: SignedDuration = SignedDuration::from_secs(8);

/// How many runs are asked about together.
const RUNS_TOGETHER: usize = 500;

/// Clocks differ, and transactions take time: rows that were written so long before the last look are read again.
pub(crate) const OVERLAP: SignedDuration = SignedDuration::from_secs(10);

/// Every so often that is not taken for granted: a clock may be wrong, or a process may have stood still within a
/// transaction. Then rows are read again that were written this long before.
pub(crate) const FAR_LOOKS: SignedDuration = SignedDuration::from_secs(20);
const FAR: SignedDuration = SignedDuration::from_mins(5);

/// Where the round stands.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// The last run that was looked at.
    cursor: i64,
    last: Option<Timestamp>,
    looked: HashMap<i64, Looked>,
}

/// When a run was looked at.
#[derive(Clone, Copy, Debug)]
struct Looked {
    at: Timestamp,
    far_at: Timestamp,
}

/// Runs that are asked about together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Their rows.
    pub(crate) ids: Vec<i64>,
    /// Since when what was written in them is read.
    pub(crate) since: Timestamp,
    is_far: bool,
}

impl Rounds {
    /// Whose turn it is, among these runs, in the order of their rows, each with the number of its instances.
    pub(crate) fn next(&self, runs: &[(i64, usize)], now: Timestamp) -> Vec<Part> {
        let all: usize = runs.iter().map(cost).sum();
        let mut left = self.budget(all, now);
        let first = runs.partition_point(|(id, _)| *id <= self.cursor);
        let in_turn = runs[first..].iter().chain(&runs[..first]);
        let chosen: Vec<i64> = in_turn
            .take_while(|run| {
                let is_within = left > 0;
                left = left.saturating_sub(cost(run));
                is_within
            })
            .map(|(id, _)| *id)
            .collect();
        chosen.chunks(RUNS_TOGETHER).map(|ids| self.part(ids, now)).collect()
    }

    /// These were looked at; and these are all there are.
    pub(crate) fn done(&mut self, parts: &[Part], runs: &[(i64, usize)], now: Timestamp) {
        self.last = Some(now);
        for part in parts {
            for id in &part.ids {
                let before = self.looked.get(id).filter(|_| !part.is_far);
                let far_at = before.map_or(now, |looked| looked.far_at);
                self.looked.insert(*id, Looked { at: now, far_at });
                self.cursor = *id;
            }
        }
        if self.looked.len() > 2 * runs.len() + RUNS_TOGETHER {
            self.looked.retain(|id, _| runs.binary_search_by_key(id, |(id, _)| *id).is_ok());
        }
    }

    /// How many rows are read. After a clock was set back, all.
    fn budget(&self, all: usize, now: Timestamp) -> usize {
        let Some(passed) = self.last.filter(|last| *last <= now).map(|last| now.duration_since(last)) else {
            return usize::MAX;
        };
        let millis = |length: SignedDuration| usize::try_from(length.as_millis()).unwrap_or(usize::MAX);
        let share = all.saturating_mul(millis(passed)) / millis(ROUND);
        share.saturating_add(1).max(LEAST_ROWS)
    }

    fn part(&self, ids: &[i64], now: Timestamp) -> Part {
        let looked = |id: &i64| self.looked.get(id).filter(|looked| looked.at <= now);
        let is_near = |id: &i64| looked(id).is_some_and(|one| now.duration_since(one.far_at) < FAR_LOOKS);
        let is_far = !ids.iter().all(is_near);
        let last = ids.iter().filter_map(looked).map(|looked| looked.at).min().unwrap_or(now);
        let reach = if is_far { FAR } else { OVERLAP };
        let since = last.checked_sub(reach).unwrap_or(Timestamp::MIN);
        Part { ids: ids.to_vec(), since, is_far }
    }
}

/// How many rows are read of a run: its own, and those of its instances.
fn cost((_, instances): &(i64, usize)) -> usize {
    instances.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const START: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn ids(parts: &[Part]) -> Vec<i64> {
        parts.iter().flat_map(|part| part.ids.clone()).collect()
    }

    fn look(rounds: &mut Rounds, runs: &[(i64, usize)], now: Timestamp) -> Vec<Part> {
        let parts = rounds.next(runs, now);
        rounds.done(&parts, runs, now);
        parts
    }

    #[test]
    fn few_are_looked_at_every_time_and_now_and_then_far_back() {
        let mut rounds = Rounds::default();
        let runs = [(3, 10), (5, 2_000)];
        let first = look(&mut rounds, &runs, START);
        assert_eq!((ids(&first), first[0].since), (vec![3, 5], START - FAR));
        let after = |seconds| START + SignedDuration::from_secs(seconds);
        let second = look(&mut rounds, &runs, after(1));
        assert_eq!((ids(&second), second[0].since), (vec![3, 5], START - OVERLAP));
        assert_eq!(look(&mut rounds, &runs, after(2))[0].since, after(1) - OVERLAP);
        assert_eq!(look(&mut rounds, &runs, after(20))[0].since, after(2) - FAR);
        assert_eq!(look(&mut rounds, &runs, after(21))[0].since, after(20) - OVERLAP);
        // One that is new was never looked at.
        assert_eq!(look(&mut rounds, &[(3, 10), (4, 1)], after(22))[0].since, after(21) - FAR);
        // A clock was set back.
        assert_eq!(look(&mut rounds, &runs, after(5))[0].since, after(5) - FAR);
    }

    #[test]
    fn of_many_each_look_takes_a_part() {
        let mut rounds = Rounds::default();
        let runs: Vec<(i64, usize)> = (0..6_000).map(|id| (id, 9)).collect();
        look(&mut rounds, &runs, START);
        let looks: Vec<usize> = (1..=9)
            .map(|second| ids(&look(&mut rounds, &runs, START + SignedDuration::from_secs(second))).len())
            .collect();
        assert!(looks.iter().all(|number| (740..760).contains(number)), "an eighth each: {looks:?}");
        let hurried = look(&mut rounds, &runs, START + SignedDuration::from_millis(9_001));
        assert_eq!(ids(&hurried).len(), LEAST_ROWS / 10, "no look is for nothing");
    }

    proptest! {
        /// Whatever comes and goes, and whenever looks are: no run waits much longer than a round, and nothing that was
        /// written since the last look at a run is left out.
        #[test]
        fn no_run_is_forgotten(
            looks in prop::collection::vec((50..3_000_i64, prop::collection::vec((0..40_i64, 0..3_000_usize), 0..6)), 1..60),
        ) {
            let (mut rounds, mut now) = (Rounds::default(), START);
            let mut runs: BTreeMap<i64, usize> = (100..140).map(|id| (id, 1_000)).collect();
            let mut seen: BTreeMap<i64, Timestamp> = BTreeMap::new();
            for (passed, changes) in looks {
                now += SignedDuration::from_millis(passed);
                for (id, instances) in changes {
                    if runs.remove(&id).is_none() {
                        runs.insert(id, instances);
                    }
                }
                seen.retain(|id, _| runs.contains_key(id));
                let list: Vec<(i64, usize)> = runs.iter().map(|(id, instances)| (*id, *instances)).collect();
                for part in look(&mut rounds, &list, now) {
                    for id in part.ids {
                        let before = seen.insert(id, now).unwrap_or(now);
                        prop_assert!(part.since <= before - OVERLAP, "run {id}: {} and {before}", part.since);
                    }
                }
                for id in runs.keys() {
                    let since = *seen.entry(*id).or_insert(now);
                    let waited = now.duration_since(since);
                    prop_assert!(waited < ROUND * 2 + SignedDuration::from_secs(3), "run {id}: {waited}");
                }
            }
        }
    }
}
