//! New ids.

use jiff::Timestamp;
use uuid::{Builder, Uuid};

/// The map index of a task instance that is not mapped.
pub const NOT_MAPPED: i32 = -1;

/// A new UUID of version 7, which sorts by the time it was made: the kind of id that Airflow gives task
/// instances, DAG versions, callbacks and deadlines. `random` comes from the caller, as all chance does here.
pub fn new_v7(now: Timestamp, random: [u8; 10]) -> Uuid {
    let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_carry_their_version_and_sort_by_time() {
        let early = new_v7(Timestamp::from_millisecond(1_700_000_000_000).unwrap(), [0xff; 10]);
        let late = new_v7(Timestamp::from_millisecond(1_700_000_000_001).unwrap(), [0; 10]);
        assert_eq!(early.get_version_num(), 7);
        assert!(early < late);
    }

    #[test]
    fn a_time_before_the_epoch_is_the_epoch() {
        assert_eq!(new_v7(Timestamp::MIN, [1; 10]), new_v7(Timestamp::UNIX_EPOCH, [1; 10]));
    }
}
