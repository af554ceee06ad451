//! Chance that comes from a seed: the same seed, the same chance, whatever library is in use.

use jiff::SignedDuration;

/// `SplitMix64`.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below another one, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// A number from the first to the last.
    pub(crate) fn between(&mut self, first: i64, last: i64) -> i64 {
        first + i64::try_from(self.below(usize::try_from(last - first + 1).unwrap())).unwrap()
    }

    /// Whether something happens that does so many times in a hundred.
    pub(crate) fn percent(&mut self, times: usize) -> bool {
        self.below(100) < times
    }

    pub(crate) fn pick<'t, T>(&mut self, list: &'t [T]) -> Option<&'t T> {
        (!list.is_empty()).then(|| &list[self.below(list.len())])
    }

    /// One of several, each as often as the number beside it says.
    pub(crate) fn weighted<T: Copy>(&mut self, list: &[(usize, T)]) -> T {
        let sum = list.iter().map(|(weight, _)| weight).sum();
        let mut at = self.below(sum);
        for (weight, one) in list {
            match at.checked_sub(*weight) {
                Some(rest) => at = rest,
                None => return *one,
            }
        }
        unreachable!("it is below the sum")
    }

    /// A time in between, in milliseconds.
    pub(crate) fn millis(&mut self, first: i64, last: i64) -> SignedDuration {
        SignedDuration::from_millis(self.between(first, last))
    }
}
