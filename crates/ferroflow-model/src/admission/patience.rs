//! When the open slots of a pool are kept for one that needs more of them.

use jiff::SignedDuration;

/// How long a task instance that needs several slots lets smaller ones go first, unless it is known
/// better.
pub const DEFAULT_PATIENCE: SignedDuration = SignedDuration::from_secs(60);

/// What one that needs several slots asks of others, by how long it has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// It has not waited long.
    New,
    /// Others may pass, although it has waited long.
    Pause,
    /// The open slots are kept for it.
    Keep,
}

/// Patience, then slots are kept as long again; a pause of the same length, and they are kept for twice as
/// long as before, and so on.
///
/// If they were kept without end, a pool would stand still for as long as one task of it runs, and for ever
/// if that task waits for others of the pool. With pauses, others always come again. As the time between them
/// grows, it is longer than any task in the end, so that the one that waits gets its slots.
pub(super) fn patience_after(waited: SignedDuration, patience: SignedDuration) -> Patience {
    if patience <= SignedDuration::ZERO || waited < patience {
        return Patience::New;
    }
    // Whole times, as windows begin and end with them. There are fewer than 2^94: the loop ends before that
    // many doublings.
    let mut times = waited.as_nanos() / patience.as_nanos();
    let mut kept = 1;
    loop {
        times -= 1;
        if times < 0 {
            return Patience::Pause;
        }
        if times < kept {
            return Patience::Keep;
        }
        times -= kept;
        kept *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_kept_for_longer_and_longer_with_pauses_between() {
        let drawn: String = (0..31)
            .map(|times| {
                match patience_after(SignedDuration::from_secs(times * 7), SignedDuration::from_secs(7)) {
                    Patience::New => 'n',
                    Patience::Pause => 'p',
                    Patience::Keep => 'K',
                }
            })
            .collect();
        assert_eq!(drawn, "nKpKKpKKKKpKKKKKKKKpKKKKKKKKKKK");
    }

    #[test]
    fn windows_begin_and_end_to_the_nanosecond() {
        let after =
            |nanos| patience_after(SignedDuration::from_nanos(nanos), SignedDuration::from_nanos(1_000));
        assert_eq!([after(999), after(1_000), after(1_999)], [Patience::New, Patience::Keep, Patience::Keep]);
        assert_eq!(
            [after(2_000), after(2_999), after(3_000)],
            [Patience::Pause, Patience::Pause, Patience::Keep]
        );
    }

    #[test]
    fn without_patience_and_before_one_came_nothing_is_kept() {
        let (zero, second, nano) =
            (SignedDuration::ZERO, SignedDuration::from_secs(1), SignedDuration::from_nanos(1));
        for patience in [zero, -second, SignedDuration::MIN] {
            for waited in [SignedDuration::MIN, zero, second, SignedDuration::MAX] {
                assert_eq!(patience_after(waited, patience), Patience::New);
            }
        }
        assert_eq!(patience_after(SignedDuration::MIN, nano), Patience::New);
        assert_eq!(patience_after(SignedDuration::MAX, SignedDuration::MAX), Patience::Keep);
        assert_ne!(patience_after(SignedDuration::MAX, nano), Patience::New);
    }
}
