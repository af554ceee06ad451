//! Whether enough of a window is there.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use super::WaitPolicy;

/// Why not enough of a window is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Shortfall {
    /// More keys have to come.
    #[error("{received} of {expected} keys have come, and {needed} are needed")]
    Waiting {
        /// How many have come, of those expected.
        received: usize,
        /// How many are expected.
        expected: usize,
        /// How many have to come.
        needed: usize,
    },
    /// More keys have to come than there are.
    #[error("{needed} keys are needed, and there are only {expected}: it can never be enough")]
    Unreachable {
        /// How many are expected.
        expected: usize,
        /// How many have to come.
        needed: usize,
    },
}

impl WaitPolicy {
    /// Compares the keys that a window is made of with those that have come. Others than the expected do not
    /// count.
    pub fn judge(
        self,
        expected: &BTreeSet<String>,
        received: &BTreeSet<impl Borrow<str> + Ord>,
    ) -> Result<(), Shortfall> {
        let found = expected.iter().filter(|key| received.contains(key.as_str())).count();
        let expected = expected.len();
        let needed = match self {
            Self::All => expected,
            Self::AtLeast(count) => usize::try_from(count.get())
                .unwrap_or_else(|_| expected.saturating_sub(count.unsigned_abs().get() as usize)),
        };
        if needed > expected {
            Err(Shortfall::Unreachable { expected, needed })
        } else if found < needed {
            Err(Shortfall::Waiting { received: found, expected, needed })
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroI32;

    use super::*;

    #[test]
    fn only_enough_of_the_expected_keys_will_do() {
        let keys = |names: &str| -> BTreeSet<String> { names.chars().map(String::from).collect() };
        let at_least = |count| WaitPolicy::AtLeast(NonZeroI32::new(count).unwrap());
        let waiting = |received, needed| Err(Shortfall::Waiting { received, expected: 3, needed });
        for (policy, expected, received, answer) in [
            (WaitPolicy::All, "abc", "abcd", Ok(())),
            (WaitPolicy::All, "abc", "bxyz", waiting(1, 3)),
            (WaitPolicy::All, "", "", Ok(())),
            (at_least(2), "abc", "axy", waiting(1, 2)),
            (at_least(2), "abc", "ab", Ok(())),
            (at_least(3), "abc", "abx", waiting(2, 3)),
            (at_least(4), "abc", "abcd", Err(Shortfall::Unreachable { expected: 3, needed: 4 })),
            (at_least(-1), "abc", "a", waiting(1, 2)),
            (at_least(-1), "abc", "ab", Ok(())),
            (at_least(-9), "abc", "", Ok(())),
            (at_least(i32::MIN), "abc", "", Ok(())),
        ] {
            assert_eq!(
                policy.judge(&keys(expected), &keys(received)),
                answer,
                "{policy:?} {expected} {received}"
            );
        }
    }
}
