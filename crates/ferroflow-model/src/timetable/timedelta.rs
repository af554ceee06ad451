//! Python's `timedelta`, to the microsecond: how one is made of parts, added to an instant, and written.

use std::fmt;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Span};

/// Microseconds of a day.
pub(super) const DAY: i64 = 86_400_000_000;

/// `timedelta(…)` of parts given as (amount, microseconds in one of them); `None` where that raises.
///
/// Fractions are carried the way `CPython` does it: what is left of each part below a microsecond is summed up as
/// a float and rounded once, half to even by the whole sum.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
#[expect(clippy::cast_precision_loss, reason = "units of time are small")]
pub(super) fn microseconds(parts: &[(f64, i64)]) -> Option<i64> {
    const MOST: f64 = 1e15;
    let mut whole = 0_i128;
    let mut left = 0.0;
    for &(amount, unit) in parts {
        if amount.is_nan() || amount.abs() > MOST {
            return None;
        }
        let fraction = amount.fract() * unit as f64;
        whole += i128::from(amount.trunc() as i64) * i128::from(unit) + i128::from(fraction.trunc() as i64);
        left += fraction.fract();
    }
    let mut rounded = left.round();
    if (rounded - left).abs().total_cmp(&0.5).is_eq() {
        let odd = f64::from(i8::from(whole % 2 != 0));
        rounded = 2.0 * ((left + odd) * 0.5).round() - odd;
    }
    i64::try_from(whole + i128::from(rounded as i64)).ok()
}

/// `timedelta.total_seconds()`: the nearest float.
#[expect(clippy::cast_precision_loss, reason = "what does not fit is rounded, as in Python")]
pub(crate) fn total_seconds(microseconds: i64) -> f64 {
    if microseconds.abs() < 1 << 53 {
        return microseconds as f64 / 1e6;
    }
    // One division of the rounded count would round twice; here the sum alone does.
    (microseconds / 1_000_000) as f64 + (microseconds % 1_000_000) as f64 / 1e6
}

/// An instant moved by a `timedelta`; `None` beyond the years 1 to 9999, where Python's `datetime` ends.
///
/// Airflow's instants are pendulum's, and pendulum adds a `timedelta` as a float number of seconds: beyond 272
/// years it has no room for every microsecond.
pub(super) fn add(instant: DateTime, microseconds: i64) -> Option<DateTime> {
    let added = self::microseconds(&[(total_seconds(microseconds), 1_000_000)])?;
    // In two steps: jiff adds at most 8,000 years of time to a date at once, but any number of days.
    let days = Span::new().try_days(added.div_euclid(DAY)).ok()?;
    let time = SignedDuration::from_micros(added.rem_euclid(DAY));
    let moved = instant.checked_add(days).ok()?.checked_add(time).ok()?;
    (moved.year() >= 1).then_some(moved)
}

/// `str(timedelta)`.
pub(super) fn write(f: &mut fmt::Formatter<'_>, microseconds: i128) -> fmt::Result {
    let days = microseconds.div_euclid(DAY.into());
    let rest = microseconds.rem_euclid(DAY.into());
    let (seconds, microseconds) = (rest / 1_000_000, rest % 1_000_000);
    if days != 0 {
        write!(f, "{days} day{}, ", if days.abs() == 1 { "" } else { "s" })?;
    }
    write!(f, "{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    if microseconds != 0 {
        write!(f, ".{microseconds:06}")?;
    }
    Ok(())
}
