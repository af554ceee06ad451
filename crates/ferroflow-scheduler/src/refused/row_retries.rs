//! Rows to which chores that are done every second come back later every time: others have locked them, or the database
//! refuses the write. To meet such a row in every cycle would hold up everything else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferroflow_db::{Error as DbError, Unreadable};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::refused::{SetAside, or_set_aside};

/// After so long one is tried again, and after twice as long every time.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);
const MAX_PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// That others have locked a row is told if it is so when it is tried for the third time.
const TOLD_AFTER: u32 = 3;

/// The rows, by their identities.
#[derive(Clone, Debug, Default)]
pub struct RowRetries(Arc<Mutex<HashMap<Uuid, Kept>>>);

#[derive(Debug)]
struct Kept {
    tries: u32,
    pause: SignedDuration,
    due: Timestamp,
    /// Why it is set aside, as long as it waits.
    set_aside: Vec<SetAside>,
}

impl RowRetries {
    /// Whether it is too early to try one again. What is told of it still holds.
    pub(crate) fn has_to_wait(&self, id: Uuid, now: Timestamp, set_aside: &mut Vec<SetAside>) -> bool {
        let rows = self.lock();
        // One that is due much later was refused before the clock was set back.
        let kept = rows.get(&id).filter(|kept| kept.due > now && kept.due <= later(now, MAX_PAUSE));
        set_aside.extend(kept.iter().flat_map(|kept| kept.set_aside.clone()));
        kept.is_some()
    }

    /// What the part with a row came to; nothing if the row is retried later.
    pub(crate) fn or_retry_later<T>(
        &self,
        id: Uuid,
        part: Result<T, DbError>,
        unreadable: &Unreadable,
        row: impl Fn(String) -> SetAside,
        set_aside: &mut Vec<SetAside>,
        now: Timestamp,
    ) -> Option<T> {
        let is_locked = part.as_ref().is_err_and(DbError::is_busy);
        let mut told = Vec::new();
        let done = or_set_aside(part, unreadable, &row, &mut told);
        let mut rows = self.lock();
        if done.is_some() {
            rows.remove(&id);
            return done;
        }
        // A row that was not tried again for long is not there any more.
        rows.retain(|_, kept| later(kept.due, MAX_PAUSE) > now);
        let (tries, pause) =
            rows.get(&id).map_or((1, FIRST_PAUSE), |kept| (kept.tries + 1, (kept.pause * 2).min(MAX_PAUSE)));
        if is_locked && tries >= TOLD_AFTER {
            told = vec![row(
                "another transaction has locked it, or a row that has to be changed with it".to_owned()
            )];
        }
        set_aside.extend(told.iter().cloned());
        rows.insert(id, Kept { tries, pause, due: later(now, pause), set_aside: told });
        None
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn later(now: Timestamp, pause: SignedDuration) -> Timestamp {
    now.checked_add(pause).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    #[test]
    fn one_is_tried_again_later_every_time_until_it_is_done() {
        let (kept_back, unreadable, id) = (RowRetries::default(), Unreadable::default(), Uuid::from_u128(1));
        let at = |seconds| NOW + SignedDuration::from_secs(seconds);
        let row = |reason| SetAside::row("row 1".to_owned(), reason);
        let mut tried = Vec::new();
        for second in 0..100 {
            let mut set_aside = Vec::new();
            if !kept_back.has_to_wait(id, at(second), &mut set_aside) {
                let refused = Err::<(), _>(DbError::Aborted("insert".to_owned()));
                assert_eq!(
                    kept_back.or_retry_later(id, refused, &unreadable, row, &mut set_aside, at(second)),
                    None
                );
                tried.push(second);
            }
            assert_eq!(set_aside.len(), 1, "it is told of all the time");
        }
        assert_eq!(tried, [0, 1, 3, 7, 15, 31, 61, 91]);
        assert!(!kept_back.has_to_wait(id, NOW, &mut Vec::new()), "the clock was set back");
        assert_eq!(kept_back.or_retry_later(id, Ok(()), &unreadable, row, &mut Vec::new(), NOW), Some(()));
        assert!(kept_back.lock().is_empty());
    }
}
