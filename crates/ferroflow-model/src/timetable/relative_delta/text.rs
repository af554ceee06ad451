//! A `relativedelta` as Python writes it.

use std::fmt;

use super::{RelativeDelta, Weekday};

/// Python's `repr(delta)`.
impl fmt::Display for RelativeDelta {
    #[expect(clippy::cast_precision_loss, reason = "six digits of it are written")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amounts = [
            ("years", self.years as f64),
            ("months", self.months as f64),
            ("days", self.days),
            ("leapdays", self.leapdays),
            ("hours", self.hours),
            ("minutes", self.minutes),
            ("seconds", self.seconds),
            ("microseconds", self.microseconds),
        ];
        let amounts = amounts.into_iter().filter(|(_, amount)| *amount != 0.0);
        let mut list: Vec<_> =
            amounts.map(|(name, amount)| format!("{name}={}", signed_general(amount))).collect();
        let weekday = self.weekday.as_ref().map(Weekday::to_string);
        let number = |field: Option<i64>| field.map(|value| value.to_string());
        let fields = [
            ("year", number(self.year)),
            ("month", number(self.month)),
            ("day", number(self.day)),
            ("weekday", weekday),
            ("hour", number(self.hour)),
            ("minute", number(self.minute)),
            ("second", number(self.second)),
            ("microsecond", number(self.microsecond)),
        ];
        list.extend(fields.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?))));
        write!(f, "relativedelta({})", list.join(", "))
    }
}

impl fmt::Display for Weekday {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
        let name = usize::try_from(self.day).ok().and_then(|day| NAMES.get(day)).copied().unwrap_or_default();
        f.write_str(name)?;
        if self.nth == 0 { Ok(()) } else { write!(f, "({:+})", self.nth) }
    }
}

/// Python's (and C's) format `+g`: six significant digits, an exponent beyond 0.0001 and a million.
fn signed_general(value: f64) -> String {
    if !value.is_finite() {
        return format!("{value:+}").to_lowercase();
    }
    let scientific = format!("{value:+.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trimmed = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    match usize::try_from(5 - exponent) {
        Ok(decimals) if exponent >= -4 => {
            let text = format!("{value:+.decimals$}");
            if decimals == 0 { text } else { trimmed(&text) }
        }
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
        }
    }
}
