//! What is left to look at, in the order in which it is looked at.

/// In place of a map index: all instances of the task.
pub(super) const EVERY_INDEX: i32 = i32::MIN;

/// The tasks, by rank, and map indexes that an examination has to look at.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// What the examination under way has yet to look at, sorted backwards.
    current: Vec<(u32, i32)>,
    /// What the next one has to look at.
    later: Vec<(u32, i32)>,
    /// Where the examination under way is. What comes after that can still be looked at by it.
    now_at: Option<u32>,
    /// Whether it is about everything, up to this many tasks.
    everything: Option<u32>,
}

impl Work {
    /// All instances of this many tasks.
    pub(super) fn everything(tasks: usize) -> Self {
        let tasks = u32::try_from(tasks).unwrap_or(u32::MAX);
        Self { current: Vec::new(), later: Vec::new(), now_at: None, everything: Some(tasks) }
    }

    /// Something about an instance, or about all of a task, has changed.
    pub(super) fn mark(&mut self, rank: u32, map_index: i32) {
        let key = (rank, map_index);
        match self.now_at {
            Some(now_at) if rank > now_at && self.everything.is_some() => {}
            Some(now_at) if rank > now_at => {
                if let Err(place) = self.current.binary_search_by(|other| key.cmp(other)) {
                    self.current.insert(place, key);
                }
            }
            Some(_) | None if self.later.last() == Some(&key) => {}
            Some(_) | None => self.later.push(key),
        }
    }

    /// An examination begins.
    pub(super) fn begin(&mut self) {
        self.current = std::mem::take(&mut self.later);
        self.current.sort_unstable_by(|one, other| other.cmp(one));
        self.current.dedup();
        if self.everything.is_some() {
            self.current.clear();
        }
    }

    /// The next to look at. What follows it may still be added to until there is no more.
    pub(super) fn next(&mut self) -> Option<(u32, i32)> {
        let next = match self.everything {
            Some(tasks) => {
                let rank = self.now_at.map_or(0, |rank| rank + 1);
                (rank < tasks).then_some((rank, EVERY_INDEX))
            }
            None => self.current.pop(),
        };
        if let Some((rank, EVERY_INDEX)) = next {
            // All are looked at; none is looked at twice.
            while self.current.pop_if(|(other, _)| *other == rank).is_some() {}
        }
        self.now_at = next.map(|(rank, _)| rank);
        if next.is_none() {
            self.everything = None;
        }
        next
    }
}
