//! Counts how often a property was really checked. A property that accepts a refusal holds for code that refuses
//! everything; so whoever lets a case pass has to name why, and each reason has a limit.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Tally {
    checked: Cell<u32>,
    passed_over: RefCell<BTreeMap<String, u32>>,
}

impl Tally {
    /// A case in which the property was checked in full.
    pub(crate) fn checked(&self) {
        self.checked.set(self.checked.get() + 1);
    }

    /// A case that had to be let pass.
    pub(crate) fn passed_over(&self, reason: &str) {
        *self.passed_over.borrow_mut().entry(reason.to_owned()).or_default() += 1;
    }

    /// Fails if a reason that is not listed occurred, or a listed one in more than so many of a thousand cases.
    pub(crate) fn check(&self, at_least: u32, limits: &[(&str, u32)]) {
        let passed_over = self.passed_over.borrow();
        let all = self.checked.get() + passed_over.values().sum::<u32>();
        assert!(self.checked.get() >= at_least, "only {} were checked: {passed_over:?}", self.checked.get());
        for (reason, count) in passed_over.iter() {
            let limit = limits.iter().find(|(listed, _)| listed == reason).map_or(0, |(_, limit)| *limit);
            assert!(count * 1000 <= all * limit, "of {all}, passed over were {passed_over:?}: {reason}");
        }
    }
}
