//! Which user code is to blame for a process that was lost, and for how long it is not asked.
//!
//! The user code that was asked is; where it is asked again, so is its class, so that a class that hangs costs one time-out, not one
//! for each of its DAGs; and where what all have in common may be bad, everybody is.

use jiff::Timestamp;

use crate::asking::Subject;
use crate::helper::HelperError;
use crate::quarantine::{Deed, LeftAlone, Quarantine};

/// What tells the whole site in quarantine: no class has an empty name.
const EVERYBODY: &str = "";

/// Who has cost a process.
#[derive(Default)]
pub(crate) struct Blame {
    offences: Quarantine,
    blames_classes: bool,
    /// How many questions in a row cost a process, without a class to be blamed,
    in_a_row: u32,
    /// and how many of them mean that everybody is left alone.
    suspicious: Option<u32>,
}

impl Blame {
    /// If so many in a row cost a process, everybody is left alone.
    pub(crate) fn suspect_everybody(&mut self, after: u32) {
        self.suspicious = Some(after);
    }

    /// From now on, classes are to blame, too.
    pub(crate) fn blame_classes(&mut self) {
        self.blames_classes = true;
    }

    /// Refuses who is left alone, and tells until when. When its class has its next chance, who has cost a process waits
    /// once more as long: it is the turn of others of the class, who may be good.
    pub(crate) fn admit(&self, subject: &Subject<'_>, now: Timestamp) -> Result<(), LeftAlone> {
        let times = if self.offences.has_offended(subject.who) { 2 } else { 1 };
        let mut refusals = vec![self.offences.admit(subject.who, 1, now)];
        refusals.extend(self.classes(subject).iter().map(|class| self.offences.admit(class, times, now)));
        refusals.push(self.offences.admit(EVERYBODY, 1, now));
        let latest = refusals.into_iter().filter_map(Result::err).max_by_key(|left| left.until);
        latest.map_or(Ok(()), Err)
    }

    /// Whether it may cost a process again.
    pub(crate) fn is_suspect(&self, subject: &Subject<'_>) -> bool {
        let has_offended = |name: &str| self.offences.has_offended(name);
        has_offended(subject.who)
            || has_offended(EVERYBODY)
            || self.classes(subject).iter().any(|class| has_offended(class))
    }

    /// Who costs a process waits, longer each time. Its class waits for as long each time: good ones of it have a chance.
    pub(crate) fn note(&mut self, subject: &Subject<'_>, method: &str, error: &HelperError, now: Timestamp) {
        let deed = Deed { whose: subject.who, method, error };
        self.offences.note(subject.who, deed, now);
        let classes = self.classes(subject);
        for class in &classes {
            self.offences.note_again(class, deed, now);
        }
        if !classes.is_empty() {
            return;
        }
        self.in_a_row += 1;
        if self.suspicious.is_some_and(|suspicious| self.in_a_row >= suspicious) {
            self.offences.note(EVERYBODY, deed, now);
        }
    }

    /// It has answered. What it was asked when it cost a process, it may not have been asked since.
    pub(crate) fn forgive(&mut self, subject: &Subject<'_>, method: &str) {
        self.in_a_row = 0;
        self.offences.forgive(subject.who, method);
        for class in self.classes(subject) {
            self.offences.forgive(&class, method);
        }
        self.offences.forgive(EVERYBODY, method);
    }

    /// Plugins are others now.
    pub(crate) fn forgive_all(&mut self) {
        self.offences = Quarantine::default();
    }

    /// What the classes go by that are to blame.
    fn classes(&self, subject: &Subject<'_>) -> Vec<String> {
        let are_blamed = self.blames_classes && subject.is_asked_again;
        subject.classes.iter().filter(|_| are_blamed).map(|class| class_name(class)).collect()
    }
}

/// What a class goes by: no other has a name with a space in front.
pub(crate) fn class_name(class: &str) -> String {
    format!(" {class}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;

    /// A timetable of a class.
    fn one(who: &str) -> Subject<'_> {
        Subject { who, classes: BTreeSet::from(["Class".to_owned()]), is_asked_again: true }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn error() -> HelperError {
        HelperError::TimedOut { purpose: "x".to_owned(), limit: Duration::from_secs(10) }
    }

    #[test]
    fn bad_ones_of_a_class_starve_no_good_one() {
        let mut blame = Blame::default();
        blame.blame_classes();
        let bad: Vec<String> = (0..40).map(|number| format!("bad {number}")).collect();
        let mut has_hung = BTreeSet::new();
        for second in 0..10_000 {
            let now = at(second * 10);
            // They stand before the good one whenever the class may be asked.
            if let Some(who) = bad.iter().find(|who| blame.admit(&one(who), now).is_ok()) {
                blame.note(&one(who), "next", &error(), now);
                has_hung.insert(who);
            } else if blame.admit(&one("good"), now).is_ok() {
                assert_eq!(has_hung.len(), bad.len(), "each of the others had its first chance");
                return;
            }
        }
        panic!("the good one never had its turn");
    }

    #[test]
    fn who_hangs_is_not_forgiven_for_answers_to_something_else() {
        let mut blame = Blame::default();
        for (asked_at, until) in [(0, 30), (30, 90), (90, 210)] {
            blame.forgive(&one("bad"), "run_id");
            blame.note(&one("bad"), "next", &error(), at(asked_at));
            assert!(blame.is_suspect(&one("bad")));
            assert_eq!(blame.admit(&one("bad"), at(asked_at)).unwrap_err().until, at(until));
        }
        blame.forgive(&one("bad"), "next");
        assert!(!blame.is_suspect(&one("bad")));
    }

    #[test]
    fn a_class_is_left_alone_only_where_it_is_asked_again() {
        let mut blame = Blame::default();
        blame.blame_classes();
        let once = |who| Subject { is_asked_again: false, ..one(who) };
        blame.note(&once("bad"), "base", &error(), at(0));
        assert!(blame.admit(&once("bad"), at(1)).is_err());
        assert!(blame.admit(&once("good"), at(1)).is_ok());
        blame.note(&one("bad"), "next", &error(), at(0));
        assert!(blame.admit(&one("good"), at(1)).is_err());
        assert!(blame.admit(&one("good"), at(30)).is_ok());
        assert_eq!(blame.admit(&one("bad"), at(1)).unwrap_err().until, at(60), "the latest is told");
    }

    #[test]
    fn who_is_left_alone_for_what_another_did_is_told_whose_it_was() {
        let mut blame = Blame::default();
        blame.suspect_everybody(1);
        blame.note(
            &Subject { who: "bad", classes: BTreeSet::new(), is_asked_again: true },
            "shape",
            &error(),
            at(0),
        );
        assert_eq!(blame.admit(&one("good"), at(1)).unwrap_err().whose, "bad", "everybody is");
        let mut blame = Blame::default();
        blame.blame_classes();
        blame.note(&one("bad"), "shape", &error(), at(0));
        assert_eq!(blame.admit(&one("good"), at(1)).unwrap_err().whose, "bad", "its class is");
    }
}
