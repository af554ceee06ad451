//! `r`: a value drawn at random, once.
//!
//! croniter draws anew whenever it looks at the expression, so that a schedule with `r` has no fixed times at
//! all. Here the draw depends on the text of the expression alone: the same schedule means the same times, to
//! every component and after every restart.

use super::field::Field;

/// `r`, `r(0-5)`, `r/15` or `r(0-29)/10`; `h` has the same forms.
pub(super) struct Drawn {
    pub(super) hashed: bool,
    bounds: Option<(u64, u64)>,
    divisor: Option<u64>,
}

impl Drawn {
    /// Recognises the text of a whole column.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (hashed, rest) = match (text.strip_prefix('h'), text.strip_prefix('r')) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return None,
        };
        let (bounds, rest) = match rest.strip_prefix('(') {
            Some(inside) => {
                let (bounds, rest) = inside.split_once(')')?;
                let (begin, end) = bounds.split_once('-')?;
                (Some((digits(begin)?, digits(end)?)), rest)
            }
            None => (None, rest),
        };
        let divisor = match rest.strip_prefix('/') {
            Some(divisor) => Some(digits(divisor)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        Some(Self { hashed, bounds, divisor })
    }

    /// The plain cron text in its place, or why there is none.
    pub(super) fn resolve(&self, field: Field, expression: &str) -> Result<String, &'static str> {
        if self.hashed {
            return Err("h needs an identity to hash, and a schedule has none: use r, or a number");
        }
        if self.bounds.is_some_and(|(begin, end)| begin >= end) {
            return Err("the range of r must end after it begins");
        }
        let begin = self.bounds.map_or(field.first(), |(begin, _)| begin);
        let end = self.bounds.map_or(field.last(), |(_, end)| end);
        match self.divisor {
            Some(0) => Err("a step of 0 leads nowhere"),
            Some(divisor) => {
                let value = draw(field, expression, begin, begin.saturating_add(divisor - 1));
                Ok(format!("{value}-{end}/{divisor}"))
            }
            None => Ok(draw(field, expression, begin, end).to_string()),
        }
    }
}

fn digits(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// A value between `begin` and `end` that depends on the expression and the column.
fn draw(field: Field, expression: &str, begin: u64, end: u64) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = (expression.bytes().chain([field as u8]))
        .fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    begin.saturating_add((hash >> 32) % (end - begin).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::super::Cron;

    #[test]
    fn a_drawn_time_stays_what_it_was_and_within_its_bounds() {
        let start = date(2024, 1, 1).at(0, 0, 0, 0);
        for expression in ["r(0-5) 3 * * *", "r r * * *", "r(30-59)/10 3 r * r", "0 0 * * * r"] {
            let cron = Cron::parse(expression).unwrap();
            assert_eq!(cron, Cron::parse(expression).unwrap(), "{expression}");
            assert!(cron.next(start).is_some(), "{expression}");
        }
        let at = Cron::parse("r(0-5) 3 * * *").unwrap().next(start).unwrap();
        assert!(at.hour() == 3 && at.minute() <= 5, "{at}");
    }

    #[test]
    fn drawing_needs_sensible_bounds() {
        for (expression, reason) in [
            (
                "h 3 * * *",
                "minute \"h\": h needs an identity to hash, and a schedule has none: use r, or a number",
            ),
            ("r(5-5) 3 * * *", "minute \"r(5-5)\": the range of r must end after it begins"),
            ("r/0 3 * * *", "minute \"r/0\": a step of 0 leads nowhere"),
            ("rr 3 * * *", "minute \"rr\": \"rr\" is not a number, a range or *"),
        ] {
            assert_eq!(Cron::parse(expression).unwrap_err().to_string(), reason);
        }
    }
}
