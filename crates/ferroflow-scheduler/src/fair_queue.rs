//! In which order runs are looked at: DAGs take turns, and the runs of one come in the order in which something happened
//! to them.
//!
//! What concerns many runs at once stands in a lane of its own, which has its share of every cycle: however many they are,
//! a run in which something has happened does not wait for them.

use std::collections::{BTreeMap, HashMap};

use crate::active_runs::RunKey;

/// The part of what is taken that is left to the crowd: one in so many.
const SHARE_OF_CROWD: usize = 5;

/// Why a run is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Something has happened in it or in the run before it, or its time has come.
    Event,
    /// It is one of many: runs that were started or found, whose DAG has changed, or that are tried again.
    Crowd,
}

/// The runs that are to be looked at, each of them once.
#[derive(Debug, Default)]
pub(crate) struct FairQueue {
    events: Lane,
    crowd: Lane,
}

impl FairQueue {
    /// Adds a run, unless it waits already. One of the crowd to which something happens leaves it.
    pub(crate) fn add(&mut self, key: RunKey, cause: Cause) {
        match cause {
            Cause::Event => {
                self.crowd.remove(&key);
                self.events.add(key);
            }
            Cause::Crowd if self.events.contains(&key) => {}
            Cause::Crowd => self.crowd.add(key),
        }
    }

    /// A run is not to be looked at any more.
    pub(crate) fn remove(&mut self, key: &RunKey) {
        self.events.remove(key);
        self.crowd.remove(key);
    }

    /// Whether nothing is to be looked at.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.len == 0 && self.crowd.len == 0
    }

    /// Whether something has happened in any of them.
    pub(crate) fn has_events(&self) -> bool {
        self.events.len > 0
    }

    /// Takes out about so many runs: of every DAG in which something has happened one at least, however many these are,
    /// and of the crowd its share.
    pub(crate) fn take(&mut self, most: usize) -> Vec<RunKey> {
        let share = self.crowd.len.min(most / SHARE_OF_CROWD);
        let of_events = (most - share).max(self.events.lines.len());
        let mut taken: Vec<RunKey> = std::iter::from_fn(|| self.events.pop()).take(of_events).collect();
        let of_crowd = most.saturating_sub(taken.len()).max(share);
        taken.extend(std::iter::from_fn(|| self.crowd.pop()).take(of_crowd));
        taken
    }
}

/// DAGs in the order of their turns, each with its runs.
#[derive(Debug, Default)]
struct Lane {
    turns: BTreeMap<u64, String>,
    lines: HashMap<String, Line>,
    /// What the next turn or place is called.
    next: u64,
    len: usize,
}

/// The runs of a DAG, in the order of their places.
#[derive(Debug)]
struct Line {
    turn: u64,
    runs: BTreeMap<u64, String>,
    places: HashMap<String, u64>,
}

impl Lane {
    fn contains(&self, key: &RunKey) -> bool {
        self.lines.get(&key.dag_id).is_some_and(|line| line.places.contains_key(&key.run_id))
    }

    fn add(&mut self, key: RunKey) {
        if self.contains(&key) {
            return;
        }
        let RunKey { dag_id, run_id } = key;
        let place = self.number();
        let line = self.lines.entry(dag_id).or_insert_with_key(|dag_id| {
            // As the last to have its turn.
            self.turns.insert(place, dag_id.clone());
            Line { turn: place, runs: BTreeMap::new(), places: HashMap::new() }
        });
        line.runs.insert(place, run_id.clone());
        line.places.insert(run_id, place);
        self.len += 1;
    }

    fn remove(&mut self, key: &RunKey) {
        let Some(line) = self.lines.get_mut(&key.dag_id) else { return };
        let Some(place) = line.places.remove(&key.run_id) else { return };
        line.runs.remove(&place);
        self.len -= 1;
        if line.runs.is_empty() {
            self.turns.remove(&line.turn);
            self.lines.remove(&key.dag_id);
        }
    }

    /// The first run of the DAG whose turn it is, which is then the last to have another.
    fn pop(&mut self) -> Option<RunKey> {
        let (_, dag_id) = self.turns.pop_first()?;
        let turn = self.number();
        let line = self.lines.get_mut(&dag_id)?;
        let (_, run_id) = line.runs.pop_first()?;
        line.places.remove(&run_id);
        self.len -= 1;
        if line.runs.is_empty() {
            self.lines.remove(&dag_id);
        } else {
            line.turn = turn;
            self.turns.insert(turn, dag_id.clone());
        }
        Some(RunKey { dag_id, run_id })
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn key(dag_id: &str, run: usize) -> RunKey {
        RunKey { dag_id: dag_id.to_owned(), run_id: format!("run_{run}") }
    }

    fn names(taken: &[RunKey]) -> Vec<String> {
        taken.iter().map(|key| format!("{} {}", key.dag_id, key.run_id)).collect()
    }

    #[test]
    fn dags_take_turns_and_runs_of_one_come_as_they_came() {
        let mut queue = FairQueue::default();
        for run in [7, 3, 5] {
            queue.add(key("a", run), Cause::Event);
        }
        queue.add(key("z", 1), Cause::Event);
        queue.add(key("a", 7), Cause::Event);
        queue.add(key("m", 1), Cause::Event);
        assert_eq!(names(&queue.take(4)), ["a run_7", "z run_1", "m run_1", "a run_3"]);
        queue.add(key("b", 1), Cause::Event);
        assert_eq!(names(&queue.take(4)), ["a run_5", "b run_1"]);
        assert!(queue.is_empty() && queue.take(4).is_empty());
    }

    #[test]
    fn what_has_happened_does_not_wait_for_the_crowd_nor_the_crowd_for_ever() {
        let mut queue = FairQueue::default();
        for run in 0..1000 {
            queue.add(key("crowded", run), Cause::Crowd);
        }
        for run in 0..100 {
            queue.add(key("busy", run), Cause::Event);
        }
        queue.add(key("crowded", 999), Cause::Event);
        let taken = queue.take(10);
        assert_eq!(names(&taken[..2]), ["busy run_0", "crowded run_999"]);
        assert_eq!(taken.iter().filter(|key| key.dag_id == "busy").count(), 7);
        assert_eq!(names(&taken[8..]), ["crowded run_0", "crowded run_1"]);
        queue.add(key("crowded", 2), Cause::Crowd);
        queue.remove(&key("crowded", 2));
        assert_eq!(names(&queue.take(10)[8..]), ["crowded run_3", "crowded run_4"]);
    }

    /// What is done to a queue.
    #[derive(Clone, Debug)]
    enum Act {
        Add(usize, usize, bool),
        Remove(usize, usize),
        Take(usize),
    }

    fn act() -> impl Strategy<Value = Act> {
        let run = || (0..12_usize, 0..40_usize);
        prop_oneof![
            8 => (run(), any::<bool>()).prop_map(|((dag, run), event)| Act::Add(dag, run, event)),
            1 => run().prop_map(|(dag, run)| Act::Remove(dag, run)),
            2 => (1..9_usize).prop_map(Act::Take),
        ]
    }

    proptest! {
        /// Whatever else is to be looked at, and whatever is added meanwhile.
        #[test]
        fn a_dag_in_which_something_has_happened_is_in_the_next_take(
            before in prop::collection::vec(act(), 0..300),
            most in 1..9_usize,
        ) {
            let (mut queue, mut model) = (FairQueue::default(), BTreeSet::new());
            let cause = |event| if event { Cause::Event } else { Cause::Crowd };
            for act in before {
                match act {
                    Act::Add(dag, run, event) => {
                        queue.add(key(&format!("dag_{dag}"), run), cause(event));
                        model.insert(key(&format!("dag_{dag}"), run));
                    }
                    Act::Remove(dag, run) => {
                        queue.remove(&key(&format!("dag_{dag}"), run));
                        model.remove(&key(&format!("dag_{dag}"), run));
                    }
                    Act::Take(most) => {
                        for key in queue.take(most) {
                            prop_assert!(model.remove(&key), "{key} was taken twice, or never added");
                        }
                    }
                }
            }
            queue.add(key("unrelated", 0), Cause::Event);
            prop_assert!(queue.take(most).contains(&key("unrelated", 0)));
        }

        /// One of the crowd has its turn within as many takes as there are DAGs, whatever happens in others.
        #[test]
        fn a_dag_of_the_crowd_has_its_turn(
            crowd in prop::collection::vec((0..12_usize, 0..40_usize), 0..300),
            events in prop::collection::vec((0..12_usize, 0..40_usize), 0..300),
        ) {
            let mut queue = FairQueue::default();
            for (dag, run) in crowd {
                queue.add(key(&format!("dag_{dag}"), run), Cause::Crowd);
            }
            queue.add(key("unrelated", 0), Cause::Crowd);
            let mut takes = 0;
            loop {
                takes += 1;
                for (dag, run) in &events {
                    queue.add(key(&format!("busy_{dag}"), *run), Cause::Event);
                }
                if queue.take(5).contains(&key("unrelated", 0)) {
                    break;
                }
                prop_assert!(takes <= 13, "13 DAGs are in the crowd, and one of it is taken each time");
            }
        }

        /// Nothing is lost, and nothing comes twice.
        #[test]
        fn each_is_taken_once(acts in prop::collection::vec(act(), 0..300)) {
            let (mut queue, mut model) = (FairQueue::default(), BTreeSet::new());
            for act in acts {
                if let Act::Add(dag, run, event) = act {
                    let cause = if event { Cause::Event } else { Cause::Crowd };
                    queue.add(key(&format!("dag_{dag}"), run), cause);
                    model.insert(key(&format!("dag_{dag}"), run));
                }
            }
            let mut taken = Vec::new();
            while !queue.is_empty() {
                taken.extend(queue.take(3));
            }
            prop_assert_eq!(taken.len(), model.len());
            prop_assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), model);
        }
    }
}
