//! Which DAG file is parsed next.
//!
//! Every known file is in one of four places: ready, asleep until it is due again, busy (being parsed), or done
//! (parsed as often as asked). Ready files are ordered by urgency: what users asked for, then what is new or
//! has changed, then what is merely due, the longest waiting first. A file that changes again and again has no more than
//! every other turn while others wait. Each operation costs the logarithm of the number of files; files that sleep cost
//! nothing.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::{SignedDuration, Timestamp};

/// The order among files that are new or changed: `[dag_processor] file_parsing_sort_mode`. What is merely due comes
/// in the order in which it became due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortMode {
    /// What was modified last comes first.
    ModifiedTime,
    /// By path.
    Alphabetical,
    /// By chance, but always the same on one host.
    RandomSeededByHost(String),
}

/// How the files are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRules {
    /// How long an unchanged file rests: `min_file_process_interval`.
    pub interval: SignedDuration,
    /// The order among equals.
    pub sort_mode: SortMode,
    /// How often each file is parsed, if not for ever.
    pub max_runs: Option<u32>,
}

/// Why a file is parsed. The lesser one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// A user asked for it.
    Requested,
    /// It is new, or was modified.
    Changed,
    /// It was modified again, and had its turn while others waited that wait still.
    ChangedAgain,
    /// It has rested long enough.
    Due,
}

/// The known files and their places. `F` names a file.
#[derive(Clone, Debug)]
pub struct FileQueue<F> {
    rules: QueueRules,
    files: HashMap<F, Entry>,
    ready: BTreeSet<(Urgency, i128, F)>,
    /// The ready files in the order in which they became so.
    waiting: BTreeSet<(u64, F)>,
    asleep: BTreeSet<(Timestamp, F)>,
    /// Counts what became ready, and what was taken.
    events: u64,
    /// Whether the last one that was taken had changed again: the next turn is that of the longest waiting.
    is_turn_of_others: bool,
    busy: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    /// When it was modified, as far as is known.
    modified: Timestamp,
    runs: u32,
    /// When it became ready, if it is, and when it was last taken, by the count of events.
    ready_since: u64,
    taken: u64,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Ready(Urgency, i128),
    Asleep(Timestamp),
    /// Being parsed; afterwards it is ready again if something happened to it meanwhile.
    Busy(Option<Urgency>),
    Done,
}

impl<F: Clone + Ord + Hash> FileQueue<F> {
    /// No files yet.
    pub fn new(rules: QueueRules) -> Self {
        Self {
            rules,
            files: HashMap::new(),
            ready: BTreeSet::new(),
            waiting: BTreeSet::new(),
            asleep: BTreeSet::new(),
            events: 0,
            is_turn_of_others: false,
            busy: 0,
        }
    }

    /// A file exists and was modified then. Returns whether that is news.
    pub fn observe(&mut self, file: &F, modified: Timestamp) -> bool {
        let Some(entry) = self.files.get_mut(file) else {
            self.files.insert(
                file.clone(),
                Entry { modified, runs: 0, ready_since: 0, taken: 0, place: Place::Done },
            );
            self.make_ready(file, Urgency::Changed);
            return true;
        };
        // Any other time counts, also an earlier one: files are replaced by older ones, too.
        if entry.modified == modified {
            return false;
        }
        entry.modified = modified;
        self.make_ready(file, Urgency::Changed);
        true
    }

    /// Something that the file depends on was modified. A file that is not known is ignored.
    pub fn touch(&mut self, file: &F) {
        self.make_ready(file, Urgency::Changed);
    }

    /// A user asks for the file. A file that is not known is ignored.
    pub fn request(&mut self, file: &F) {
        self.make_ready(file, Urgency::Requested);
    }

    /// A file is gone.
    pub fn forget(&mut self, file: &F) {
        self.leave(file);
        self.files.remove(file);
    }

    /// The next file to parse, which is busy from now on.
    pub fn take(&mut self, now: Timestamp) -> Option<(F, Urgency)> {
        self.wake(now);
        let (urgency, _, file) = self.ready.first()?;
        let (mut urgency, mut file) = (*urgency, file.clone());
        let others = if self.is_turn_of_others { self.waiting.first() } else { None };
        if urgency == Urgency::ChangedAgain
            && let Some((_, longest_waiting)) = others
            && let Some(Place::Ready(its, _)) = self.files.get(longest_waiting).map(|entry| entry.place)
        {
            (urgency, file) = (its, longest_waiting.clone());
            self.is_turn_of_others = false;
        } else {
            self.is_turn_of_others = urgency == Urgency::ChangedAgain;
        }
        self.leave(&file);
        self.events += 1;
        if let Some(entry) = self.files.get_mut(&file) {
            entry.place = Place::Busy(None);
            entry.taken = self.events;
            entry.ready_since = 0;
            self.busy += 1;
        }
        Some((file, urgency))
    }

    /// A file that was busy has been parsed, well or not.
    pub fn finish(&mut self, file: &F, now: Timestamp) {
        self.rest(file, now, self.rules.interval, true);
    }

    /// The same of a file that is to be parsed again soon: it rests no longer than this.
    pub fn finish_for_now(&mut self, file: &F, now: Timestamp, longest: SignedDuration) {
        self.rest(file, now, self.rules.interval.min(longest), true);
    }

    /// The same of a file of which nothing came through no fault of its own: this time does not count.
    pub fn put_off(&mut self, file: &F, now: Timestamp, longest: SignedDuration) {
        self.rest(file, now, self.rules.interval.min(longest), false);
    }

    fn rest(&mut self, file: &F, now: Timestamp, interval: SignedDuration, counts: bool) {
        let Some(Entry { place: Place::Busy(again), .. }) = self.files.get(file) else { return };
        let again = *again;
        self.leave(file);
        let due = now.checked_add(interval).unwrap_or(Timestamp::MAX);
        if let Some(entry) = self.files.get_mut(file) {
            entry.runs = entry.runs.saturating_add(u32::from(counts));
            entry.place = Place::Done;
            if self.rules.max_runs.is_some_and(|limit| entry.runs >= limit) {
                return;
            }
            if let Some(urgency) = again {
                self.make_ready(file, urgency);
            } else {
                entry.place = Place::Asleep(due);
                self.asleep.insert((due, file.clone()));
            }
        }
    }

    /// When a file will be due, if none is ready before.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.asleep.first().map(|(due, _)| *due)
    }

    /// Whether every file was parsed as often as asked. Never so without a limit.
    pub fn is_done(&self) -> bool {
        self.rules.max_runs.is_some() && self.ready.is_empty() && self.asleep.is_empty() && self.busy == 0
    }

    /// How many files are ready.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// How many files are known.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether no file is known.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether a file is known.
    pub fn contains(&self, file: &F) -> bool {
        self.files.contains_key(file)
    }

    /// The known files, in no order.
    pub fn files(&self) -> impl Iterator<Item = &F> {
        self.files.keys()
    }

    fn wake(&mut self, now: Timestamp) {
        self.wake_if_the_clock_was_set_back(now);
        while let Some((due, file)) = self.asleep.pop_first() {
            if due > now {
                self.asleep.insert((due, file));
                return;
            }
            self.put(&file, Urgency::Due, due);
        }
    }

    /// A file that sleeps longer than any file does is due.
    fn wake_if_the_clock_was_set_back(&mut self, now: Timestamp) {
        let Ok(latest) = now.checked_add(self.rules.interval) else { return };
        while let Some((due, file)) = self.asleep.last().filter(|(due, _)| *due > latest).cloned() {
            self.asleep.remove(&(due, file.clone()));
            self.put(&file, Urgency::Due, now);
        }
    }

    /// Makes a file ready, or more urgent. One that is busy will be ready afterwards.
    fn make_ready(&mut self, file: &F, urgency: Urgency) {
        let has_had_its_turn = self.has_had_its_turn(file);
        let Some(entry) = self.files.get_mut(file) else { return };
        let urgency = match urgency {
            Urgency::Changed if has_had_its_turn => Urgency::ChangedAgain,
            urgency => urgency,
        };
        match &mut entry.place {
            Place::Busy(again) => *again = Some(again.map_or(urgency, |before| before.min(urgency))),
            Place::Ready(before, _) if *before < urgency => {}
            Place::Ready(Urgency::Requested, _) => {}
            Place::Ready(Urgency::ChangedAgain, _) if urgency == Urgency::ChangedAgain => {}
            Place::Done if self.rules.max_runs.is_some_and(|limit| entry.runs >= limit) => {}
            _ => {
                let modified = entry.modified;
                self.leave(file);
                self.put(file, urgency, modified);
            }
        }
    }

    /// Whether a user still waits who did when the file was taken.
    fn has_had_its_turn(&self, file: &F) -> bool {
        let longest_waiting = self.waiting.first().map(|(since, _)| *since);
        self.files.get(file).zip(longest_waiting).is_some_and(|(entry, since)| since < entry.taken)
    }

    /// Puts a file that is nowhere among the ready ones.
    fn put(&mut self, file: &F, urgency: Urgency, since: Timestamp) {
        self.events += 1;
        let order = match (urgency, &self.rules.sort_mode) {
            (Urgency::Requested | Urgency::ChangedAgain, _) => i128::from(self.events),
            // In any other order, files that are due again soon would keep the others waiting for ever.
            (Urgency::Due, _) => since.as_nanosecond(),
            (Urgency::Changed, SortMode::ModifiedTime) => -since.as_nanosecond(),
            (Urgency::Changed, SortMode::Alphabetical) => 0,
            (Urgency::Changed, SortMode::RandomSeededByHost(host)) => {
                let mut hasher = DefaultHasher::new();
                (host, file).hash(&mut hasher);
                i128::from(hasher.finish())
            }
        };
        if let Some(entry) = self.files.get_mut(file) {
            if entry.ready_since == 0 {
                entry.ready_since = self.events;
            }
            entry.place = Place::Ready(urgency, order);
            self.ready.insert((urgency, order, file.clone()));
            self.waiting.insert((entry.ready_since, file.clone()));
        }
    }

    /// Takes a file out of its place.
    fn leave(&mut self, file: &F) {
        match self.files.get(file).map(|entry| entry.place) {
            Some(Place::Ready(urgency, order)) => {
                self.ready.remove(&(urgency, order, file.clone()));
                if let Some(entry) = self.files.get_mut(file) {
                    self.waiting.remove(&(entry.ready_since, file.clone()));
                }
            }
            Some(Place::Asleep(due)) => {
                self.asleep.remove(&(due, file.clone()));
            }
            Some(Place::Busy(_)) => self.busy -= 1,
            Some(Place::Done) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: SignedDuration = SignedDuration::from_secs(30);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn queue(sort_mode: SortMode, max_runs: Option<u32>) -> FileQueue<&'static str> {
        FileQueue::new(QueueRules { interval: INTERVAL, sort_mode, max_runs })
    }

    fn drain(queue: &mut FileQueue<&'static str>, now: i64) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.take(at(now)).map(|(file, _)| file)).collect()
    }

    #[test]
    fn the_last_modified_comes_first_and_the_longest_waiting_of_the_due() {
        let mut queue = queue(SortMode::ModifiedTime, None);
        for (file, modified) in [("old", 1), ("new", 3), ("middle", 2)] {
            assert!(queue.observe(&file, at(modified)));
        }
        assert_eq!(drain(&mut queue, 10), ["new", "middle", "old"]);
        for (file, finished) in [("old", 11), ("middle", 12), ("new", 13)] {
            queue.finish(&file, at(finished));
        }
        assert_eq!(queue.next_due(), Some(at(41)));
        assert_eq!(drain(&mut queue, 40), [""; 0]);
        assert_eq!(drain(&mut queue, 42), ["old", "middle"]);
    }

    #[test]
    fn changed_files_overtake_due_ones_and_requested_ones_overtake_all() {
        let mut queue = queue(SortMode::Alphabetical, None);
        for file in ["a", "b", "c", "d"] {
            queue.observe(&file, at(1));
        }
        assert_eq!(drain(&mut queue, 2), ["a", "b", "c", "d"]);
        for file in ["a", "b", "c", "d"] {
            queue.finish(&file, at(3));
        }
        assert!(!queue.observe(&"c", at(1)));
        assert!(queue.observe(&"c", at(0)), "an older file is another file, too");
        queue.request(&"d");
        assert_eq!(drain(&mut queue, 100), ["d", "c", "a", "b"]);
    }

    #[test]
    fn a_file_that_is_finished_for_now_rests_for_a_while_at_most() {
        let mut queue = queue(SortMode::ModifiedTime, None);
        queue.observe(&"a", at(1));
        for (longest, due) in [(10, 12), (60, 42)] {
            assert_eq!(drain(&mut queue, 40), ["a"]);
            queue.finish_for_now(&"a", at(due - longest.min(30)), SignedDuration::from_secs(longest));
            assert_eq!(queue.next_due(), Some(at(due)));
        }
    }

    #[test]
    fn a_file_that_is_put_off_comes_again_soon_and_is_not_done() {
        let mut queue = queue(SortMode::ModifiedTime, Some(1));
        queue.observe(&"a", at(1));
        assert_eq!(drain(&mut queue, 2), ["a"]);
        queue.put_off(&"a", at(3), SignedDuration::from_secs(5));
        assert!(!queue.is_done());
        assert_eq!(queue.next_due(), Some(at(8)));
        assert_eq!(drain(&mut queue, 8), ["a"]);
        queue.finish(&"a", at(9));
        assert!(queue.is_done());
    }

    #[test]
    fn a_file_that_changes_while_it_is_parsed_is_parsed_again_at_once() {
        let mut queue = queue(SortMode::ModifiedTime, None);
        queue.observe(&"a", at(1));
        assert_eq!(queue.take(at(2)), Some(("a", Urgency::Changed)));
        queue.observe(&"a", at(2));
        assert_eq!(queue.take(at(3)), None, "one child per file");
        queue.finish(&"a", at(4));
        assert_eq!(queue.take(at(4)), Some(("a", Urgency::Changed)));
        queue.finish(&"a", at(5));
        assert_eq!(queue.take(at(5)), None);
    }

    #[test]
    fn files_are_parsed_as_often_as_asked() {
        let mut queue = queue(SortMode::ModifiedTime, Some(1));
        assert!(queue.is_done(), "there is nothing to do");
        queue.observe(&"a", at(1));
        queue.observe(&"b", at(1));
        assert!(!queue.is_done());
        assert_eq!(drain(&mut queue, 2).len(), 2);
        queue.finish(&"a", at(3));
        assert!(!queue.is_done(), "the other one is under way");
        queue.finish(&"b", at(3));
        assert!(queue.is_done());
        queue.touch(&"a");
        queue.request(&"b");
        assert_eq!(queue.take(at(1000)), None);
    }

    #[test]
    fn a_file_that_is_gone_is_not_parsed_wherever_it_was() {
        let mut queue = queue(SortMode::ModifiedTime, None);
        for file in ["ready", "busy", "asleep"] {
            queue.observe(&file, at(1));
        }
        queue.request(&"asleep");
        assert_eq!(queue.take(at(1)), Some(("asleep", Urgency::Requested)));
        queue.finish(&"asleep", at(1));
        queue.request(&"busy");
        assert_eq!(queue.take(at(1)), Some(("busy", Urgency::Requested)));
        for file in ["ready", "busy", "asleep"] {
            queue.forget(&file);
        }
        queue.finish(&"busy", at(2));
        assert_eq!(drain(&mut queue, 100), [""; 0]);
        assert!(queue.is_empty() && queue.next_due().is_none());
    }

    #[test]
    fn no_file_waits_for_ever_behind_others_that_are_due_again() {
        for sort_mode in [SortMode::ModifiedTime, SortMode::Alphabetical] {
            let mut queue = queue(sort_mode, None);
            for file in ["a", "b", "z"] {
                queue.observe(&file, at(1));
            }
            // One process, and parsing takes longer than a file rests.
            let mut parsed = Vec::new();
            for round in 0..6 {
                let (file, _) = queue.take(at(round * 100)).unwrap();
                parsed.push(file);
                queue.finish(&file, at(round * 100 + 60));
            }
            parsed.sort_unstable();
            assert_eq!(parsed, ["a", "a", "b", "b", "z", "z"]);
        }
    }

    /// One child, and the hot files change while they are parsed, or as soon as they have been.
    #[test]
    fn files_that_change_again_and_again_have_every_other_turn_at_most() {
        for sort_mode in [SortMode::ModifiedTime, SortMode::Alphabetical] {
            for changes_while_parsed in [true, false] {
                let mut queue = queue(sort_mode.clone(), None);
                queue.observe(&"due", at(1));
                assert_eq!(drain(&mut queue, 1), ["due"]);
                queue.finish(&"due", at(1));
                for file in ["a_hot", "b_hot", "z_changed"] {
                    queue.observe(&file, at(if file == "z_changed" { 2 } else { 3 }));
                }
                let mut parsed = Vec::new();
                for round in 40..48 {
                    let (file, _) = queue.take(at(round)).unwrap();
                    parsed.push(file);
                    if changes_while_parsed && file.ends_with("hot") {
                        queue.observe(&file, at(round));
                    }
                    queue.finish(&file, at(round));
                    if !changes_while_parsed && file.ends_with("hot") {
                        queue.observe(&file, at(round));
                    }
                }
                assert!(parsed[..3].contains(&"z_changed"), "{parsed:?}");
                assert!(parsed[..5].contains(&"due"), "{parsed:?}");
                assert!(parsed[5..].contains(&"a_hot") && parsed[5..].contains(&"b_hot"), "{parsed:?}");
            }
        }
    }

    #[test]
    fn whoever_changes_a_file_twice_waits_for_few() {
        let mut queue = queue(SortMode::ModifiedTime, None);
        let due: Vec<String> = (0..100).map(|number| format!("due_{number}")).collect();
        let due: Vec<&'static str> = due.into_iter().map(|name| &*name.leak()).collect();
        for file in due.iter().chain(&["edited"]) {
            queue.observe(file, at(1));
        }
        for file in drain(&mut queue, 2) {
            queue.finish(&file, at(3));
        }
        for second in [40, 50] {
            queue.observe(&"edited", at(second));
            let first: Vec<&str> =
                (0..2).filter_map(|_| queue.take(at(second))).map(|(file, _)| file).collect();
            assert!(first.contains(&"edited"), "{first:?}");
            for file in first {
                queue.finish(&file, at(second));
            }
        }
    }

    #[test]
    fn a_clock_that_is_set_back_stops_nothing() {
        let mut queue = queue(SortMode::ModifiedTime, None);
        queue.observe(&"a", at(1));
        queue.take(at(10_000)).unwrap();
        queue.finish(&"a", at(10_000));
        assert_eq!(queue.take(at(10_001)), None);
        assert_eq!(queue.take(at(5_000)), Some(("a", Urgency::Due)));
    }

    #[test]
    fn chance_is_the_same_on_one_host() {
        let order = |host: &str| {
            let mut queue = queue(SortMode::RandomSeededByHost(host.to_owned()), None);
            for file in ["a", "b", "c", "d", "e", "f", "g"] {
                queue.observe(&file, at(1));
            }
            drain(&mut queue, 2)
        };
        assert_eq!(order("one"), order("one"));
        assert_ne!(order("one"), order("another"));
    }
}
