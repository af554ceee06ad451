//! User code that hangs or crashes: it is asked less and less often, so that the others keep their process.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::helper::HelperError;

/// What cost a process is left alone for this long, then for twice as long,
const FIRST: SignedDuration = SignedDuration::from_secs(30);
/// up to this.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);
/// Beyond so many bad ones, the oldest offences are not the problem.
const MOST: usize = 1_000;

/// Who is left alone, by what tells them apart.
#[derive(Default)]
pub(crate) struct Quarantine(HashMap<String, Offence>);

/// Somebody's time has not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftAlone {
    /// When it is asked again.
    pub(crate) pause: Duration,
    /// What happened the last time.
    pub(crate) last: String,
}

struct Offence {
    times: u32,
    last: String,
    at: Timestamp,
}

impl Quarantine {
    /// Refuses who is left alone.
    pub(crate) fn admit(&self, who: &str, now: Timestamp) -> Result<(), LeftAlone> {
        let Some(offence) = self.0.get(who) else {
            return Ok(());
        };
        let left = offence.length() - now.duration_since(offence.at).max(SignedDuration::ZERO);
        match Duration::try_from(left) {
            Ok(pause) if pause > Duration::ZERO => Err(LeftAlone {
                pause: Duration::from_secs(pause.as_secs().max(1)),
                last: offence.last.clone(),
            }),
            _ => Ok(()),
        }
    }

    pub(crate) fn note(&mut self, who: &str, error: &HelperError, now: Timestamp) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let times = self.0.get(who).map_or(0, |offence| offence.times) + 1;
        self.0.insert(who.to_owned(), Offence { times, last: error.to_string(), at: now });
    }

    pub(crate) fn forgive(&mut self, who: &str) {
        self.0.remove(who);
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
        assert!(quarantine.admit("good", at(0)).is_ok());
        let refusal = quarantine.admit("bad", at(10)).unwrap_err();
        let last = "the Python process for x gave no answer within 1s and was ended".to_owned();
        assert_eq!(refusal, LeftAlone { pause: Duration::from_secs(20), last });
        assert!(quarantine.admit("bad", at(30)).is_ok());
        quarantine.note("bad", &error, at(30));
        assert!(quarantine.admit("bad", at(80)).is_err());
        assert!(quarantine.admit("bad", at(90)).is_ok());
        for _ in 0..50 {
            quarantine.note("bad", &error, at(100));
        }
        assert!(quarantine.admit("bad", at(699)).is_err());
        assert!(quarantine.admit("bad", at(700)).is_ok());
        quarantine.forgive("bad");
        assert!(quarantine.admit("bad", at(100)).is_ok());
    }
}
