//! Timetables that hang or crash: they are asked less and less often, so that the others keep their process.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::TimetableError;
use crate::helper::HelperError;

/// A timetable that cost a process is left alone for this long, then for twice as long,
const FIRST: SignedDuration = SignedDuration::from_secs(30);
/// up to this.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);
/// Beyond so many bad ones, the oldest offences are not the problem.
const MOST: usize = 1_000;

/// Who is left alone, by serialized text.
#[derive(Default)]
pub(super) struct Quarantine(HashMap<String, Offence>);

struct Offence {
    times: u32,
    last: String,
    at: Timestamp,
}

impl Quarantine {
    /// Refuses a timetable whose time has not come.
    pub(super) fn admit(&self, text: &str, class: &str, now: Timestamp) -> Result<(), TimetableError> {
        let Some(offence) = self.0.get(text) else {
            return Ok(());
        };
        let left = offence.length() - now.duration_since(offence.at).max(SignedDuration::ZERO);
        match Duration::try_from(left) {
            Ok(pause) if pause > Duration::ZERO => Err(TimetableError::InQuarantine {
                class: class.to_owned(),
                pause: Duration::from_secs(pause.as_secs().max(1)),
                last: offence.last.clone(),
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn note(&mut self, text: &str, error: &HelperError, now: Timestamp) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let times = self.0.get(text).map_or(0, |offence| offence.times) + 1;
        self.0.insert(text.to_owned(), Offence { times, last: error.to_string(), at: now });
    }

    pub(super) fn forgive(&mut self, text: &str) {
        self.0.remove(text);
    }
}

impl Offence {
    fn length(&self) -> SignedDuration {
        FIRST.saturating_mul(1 << (self.times - 1).min(10)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_costs_a_process_is_left_alone_for_longer_each_time() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let error = HelperError::TimedOut { purpose: "x".to_owned(), limit: Duration::from_secs(1) };
        let mut quarantine = Quarantine::default();
        quarantine.note("bad", &error, at(0));
        assert!(quarantine.admit("good", "G", at(0)).is_ok());
        let refusal = quarantine.admit("bad", "my.Bad", at(10)).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "the timetable my.Bad is asked again in 20s, since the last time the Python process for x gave no \
             answer within 1s and was ended"
        );
        assert!(quarantine.admit("bad", "my.Bad", at(30)).is_ok());
        quarantine.note("bad", &error, at(30));
        assert!(quarantine.admit("bad", "my.Bad", at(80)).is_err());
        assert!(quarantine.admit("bad", "my.Bad", at(90)).is_ok());
        for _ in 0..50 {
            quarantine.note("bad", &error, at(100));
        }
        assert!(quarantine.admit("bad", "my.Bad", at(699)).is_err());
        assert!(quarantine.admit("bad", "my.Bad", at(700)).is_ok());
        quarantine.forgive("bad");
        assert!(quarantine.admit("bad", "my.Bad", at(100)).is_ok());
    }
}
