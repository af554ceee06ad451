//! The dialect: how a text becomes sets of bits.
//!
//! croniter expands every column to a list of values. Its particular ways are the contract here:
//! - ranges wrap (`22-3`, `fri-mon`), and with a step the second leg continues the stride of the first;
//! - `x-x` is the whole column;
//! - a list that names as many values as the column has is `*`, except for a day column whose partner has
//!   no `*`;
//! - a list with a `*` in it is unrestricted, but not "every hour" in Airflow's sense.

use super::field::{CronError, Field};
use super::random::Drawn;
use super::{Cron, DayPattern, Days, MonthDay, WeekDay, Years};

impl Cron {
    /// Reads an expression of five, six (seconds last) or seven (year last) columns, or one of croniter's
    /// aliases.
    pub fn parse(expression: &str) -> Result<Self, CronError> {
        let lower = expression.to_lowercase();
        let expression = alias(&lower).unwrap_or(&lower);
        let columns: Vec<&str> = columns(expression).collect();
        if !(5..=7).contains(&columns.len()) {
            return Err(CronError::Columns(columns.len()));
        }
        let mut sets = Vec::with_capacity(7);
        for (field, text) in Field::ALL.into_iter().zip(&columns) {
            let column = Column { field, text, columns: &columns };
            sets.push(column.expand(expression)?);
        }
        if sets[4].mixes_nth_with_others() {
            let reason = "numbered (5#2) and last (l5) weekdays cannot be mixed with plain ones";
            return Err(CronError::Field {
                field: Field::WeekDay.name(),
                text: columns[4].to_owned(),
                reason: reason.to_owned(),
            });
        }
        Ok(assemble(&sets))
    }
}

/// What stands between white space, of which Python knows four characters more than Rust.
pub(super) fn columns(expression: &str) -> impl Iterator<Item = &str> {
    let is_blank = |c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}');
    expression.split(is_blank).filter(|column| !column.is_empty())
}

/// croniter's own names for whole expressions. `@quarterly` is not among them.
fn alias(lower: &str) -> Option<&'static str> {
    Some(match lower {
        "@midnight" | "@daily" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        _ => return None,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "each column was held to its range")]
fn assemble(sets: &[Set]) -> Cron {
    let month_day = match &sets[2] {
        set if set.star => MonthDay::Any,
        Set { nearest_weekday: Some(day), .. } => MonthDay::NearestWeekday(*day),
        set => MonthDay::Listed { days: set.bits[0] as u32, last: set.last },
    };
    let week_day = match &sets[4] {
        set if set.nth != [0; 7] => WeekDay::Nth(set.nth),
        set if set.star => WeekDay::Any,
        set => WeekDay::Listed(set.bits[0] as u8),
    };
    let days = if sets[2].star || sets[4].star {
        Days::Both(DayPattern { month_day, week_day })
    } else {
        // The conditions that are not plain lists hold in both searches.
        let any_week_day = if matches!(week_day, WeekDay::Nth(_)) { week_day } else { WeekDay::Any };
        let any_month_day =
            if matches!(month_day, MonthDay::NearestWeekday(_)) { month_day } else { MonthDay::Any };
        Days::Either(
            DayPattern { month_day, week_day: any_week_day },
            DayPattern { month_day: any_month_day, week_day },
        )
    };
    Cron {
        minutes: sets[0].bits_or_all(Field::Minute),
        hours: sets[1].bits_or_all(Field::Hour) as u32,
        months: sets[3].bits_or_all(Field::Month) as u16,
        seconds: sets.get(5).map_or(1, |set| set.bits_or_all(Field::Second)),
        has_seconds: sets.len() > 5,
        years: sets.get(6).filter(|set| !set.star).map(|set| Years(set.bits)),
        days,
        every_hour: sets[1].is_exactly_star(),
    }
}

/// What a column expands to.
#[derive(Default)]
struct Set {
    /// Bit n is value n; of a year, n years after 1970.
    bits: [u64; 3],
    /// `*` is among the values.
    star: bool,
    /// `l` is among the days of the month.
    last: bool,
    nearest_weekday: Option<u8>,
    /// As in [`WeekDay::Nth`].
    nth: [u8; 7],
}

impl Set {
    fn size(&self) -> u32 {
        let values: u32 = self.bits.iter().map(|bits| bits.count_ones()).sum();
        values + u32::from(self.star) + u32::from(self.last)
    }

    fn is_exactly_star(&self) -> bool {
        self.star && self.size() == 1
    }

    fn bits_or_all(&self, field: Field) -> u64 {
        if self.star { (2 << field.last()) - 1 } else { self.bits[0] }
    }

    fn mixes_nth_with_others(&self) -> bool {
        if self.nth == [0; 7] {
            return false;
        }
        let others = (0..7).any(|day| self.bits[0] & (1 << day) != 0 && self.nth[day] == 0);
        others && self.size() != 7
    }
}

struct Column<'e> {
    field: Field,
    text: &'e str,
    columns: &'e [&'e str],
}

impl Column<'_> {
    fn expand(&self, expression: &str) -> Result<Set, CronError> {
        let drawn = match Drawn::parse(self.text) {
            Some(drawn) => Some(drawn.resolve(self.field, expression).map_err(|reason| self.refuse(reason))?),
            None => None,
        };
        let text = self.without_question_mark(drawn.as_deref().unwrap_or(self.text))?;
        let mut set = Set::default();
        let items: Vec<&str> = text.split(',').collect();
        for item in &items {
            self.expand_item(item, items.len(), &mut set)?;
        }
        let all = u32::try_from(self.field.last() - self.field.first() + 1).unwrap_or(u32::MAX);
        if set.size() == all && !self.keeps_full_list() {
            set = Set { star: true, nth: set.nth, ..Set::default() };
        }
        Ok(set)
    }

    /// A day column that lists everything stays a list when the other day column has no `*`.
    fn keeps_full_list(&self) -> bool {
        match self.field {
            Field::MonthDay => !self.columns[4].contains('*'),
            Field::WeekDay => !self.columns[2].contains('*'),
            _ => false,
        }
    }

    fn without_question_mark<'t>(&self, text: &'t str) -> Result<&'t str, CronError> {
        if !text.contains('?') {
            return Ok(text);
        }
        if text != "?" {
            return Err(self.refuse("? cannot stand beside anything else"));
        }
        if !matches!(self.field, Field::MonthDay | Field::WeekDay) {
            return Err(self.refuse("? is for the day of the month and the day of the week only"));
        }
        Ok("*")
    }

    fn expand_item(&self, item: &str, items: usize, set: &mut Set) -> Result<(), CronError> {
        match self.field {
            Field::MonthDay => {
                if let Some(day) = nearest_weekday(item) {
                    return self.nearest_weekday(day, items, set);
                }
            }
            Field::WeekDay => {
                if let Some((day, nth)) = numbered_weekday(item) {
                    return self.numbered_weekday(day, nth, set);
                }
            }
            _ => {}
        }
        self.expand_plain(item, |value| set.add(self.field, value))
    }

    fn nearest_weekday(&self, day: &str, items: usize, set: &mut Set) -> Result<(), CronError> {
        let day = self.number(day)?;
        if !(1..=31).contains(&day) {
            return Err(self.refuse(format!("there is no day {day}")));
        }
        if items > 1 {
            return Err(self.refuse("w takes a single day, not one of a list"));
        }
        set.nearest_weekday = u8::try_from(day).ok();
        set.add(self.field, Item::Number(day));
        Ok(())
    }

    fn numbered_weekday(&self, day: &str, nth: Nth<'_>, set: &mut Set) -> Result<(), CronError> {
        let bit = match nth {
            Nth::Last => 0,
            Nth::Number(text) => match self.number(text)? {
                nth @ 1..=5 => nth,
                nth => {
                    return Err(self.refuse(format!("a weekday comes up to five times a month, not {nth}")));
                }
            },
        };
        self.expand_plain(day, |value| {
            set.add(self.field, value);
            if let Item::Number(day) = value {
                set.nth[usize::try_from(day % 7).unwrap_or(0)] |= 1 << bit;
            }
        })
    }

    /// A star, a value, a range or either with a step.
    fn expand_plain(&self, item: &str, mut add: impl FnMut(Item)) -> Result<(), CronError> {
        if let Some(range) = self.range(item)? {
            for value in range {
                add(Item::Number(self.in_range(value)?));
            }
            return Ok(());
        }
        match item {
            "*" => add(Item::Star),
            "l" if self.field == Field::MonthDay => add(Item::Last),
            _ if item.starts_with('-') => return Err(self.refuse("negative numbers do not occur")),
            _ => add(Item::Number(self.in_range(self.value(item)?)?)),
        }
        Ok(())
    }

    /// The values of `a-b`, `a-b/n`, `*/n` and `a/n`, or `None` if the item has no such form.
    fn range(&self, item: &str) -> Result<Option<Vec<u64>>, CronError> {
        let (bounds, step) = match item.split_once('/') {
            Some((bounds, step)) if !step.is_empty() && step.bytes().all(|b| b.is_ascii_digit()) => {
                (bounds, Some(self.number(step)?))
            }
            Some(_) => return Err(self.refuse(format!("the step of {item:?} is not a number"))),
            None => (item, None),
        };
        let (low, high) = match (bounds.split_once('-'), step) {
            (Some((low, high)), _) if !low.is_empty() && !high.is_empty() && !high.contains('-') => {
                (low, high)
            }
            (Some(_), _) => return if item.starts_with('-') { Ok(None) } else { Err(self.unknown(item)) },
            (None, None) => return Ok(None),
            (None, Some(_)) => (bounds, ""),
        };
        let last = self.field.last();
        let (low, high) = match (low, high) {
            ("*", "") => (self.field.first(), last),
            (low, "") => (self.value(low)?, last),
            (low, "l") if self.field == Field::MonthDay => (self.value(low)?, last),
            (low, high) => (self.value(low)?, self.value(high)?),
        };
        let step = step.unwrap_or(1);
        if step == 0 {
            return Err(self.refuse("a step of 0 leads nowhere"));
        }
        if low.max(high) > last {
            return Err(self.beyond(low.max(high)));
        }
        Ok(Some(self.stride(low, high, step)))
    }

    fn stride(&self, low: u64, high: u64, step: u64) -> Vec<u64> {
        let (first, last) = (self.field.first(), self.field.last());
        let each = |from: u64, to: u64| {
            let step = usize::try_from(step).unwrap_or(usize::MAX);
            (from..=to).step_by(step)
        };
        if low == high {
            return each(first, last).collect();
        }
        if low < high {
            return each(low, high).collect();
        }
        let mut values: Vec<u64> = each(low, last).collect();
        let end = values.last().copied().unwrap_or(low);
        let left_over = last - end;
        let size = last - first + 1;
        let skipped = if end.saturating_sub(first).saturating_add(step) > size && left_over < step {
            step - left_over
        } else {
            0
        };
        values.extend(each(first.saturating_add(skipped), high));
        values
    }

    /// A number or a name, with Sunday's 7 and the like resolved.
    fn value(&self, text: &str) -> Result<u64, CronError> {
        let number = if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            self.field.named(text).ok_or_else(|| self.unknown(text))?
        } else {
            self.number(text)?
        };
        Ok(self.field.alias(number, self.columns.len()))
    }

    /// Digits as a number. One too long for any purpose is a very large number.
    fn number(&self, digits: &str) -> Result<u64, CronError> {
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.unknown(digits));
        }
        Ok(digits.parse().unwrap_or(u64::MAX))
    }

    fn in_range(&self, value: u64) -> Result<u64, CronError> {
        let value = self.field.alias(value, self.columns.len());
        let within = (self.field.first()..=self.field.last()).contains(&value);
        if within { Ok(value) } else { Err(self.beyond(value)) }
    }

    fn beyond(&self, value: u64) -> CronError {
        self.refuse(format!("{value} is outside {}-{}", self.field.first(), self.field.last()))
    }

    fn unknown(&self, text: &str) -> CronError {
        let names = match self.field {
            Field::Month => ", a name (jan to dec)",
            Field::WeekDay => ", a name (sun to sat)",
            _ => "",
        };
        self.refuse(format!("{text:?} is not a number{names}, a range or *"))
    }

    fn refuse(&self, reason: impl Into<String>) -> CronError {
        CronError::Field { field: self.field.name(), text: self.text.to_owned(), reason: reason.into() }
    }
}

#[derive(Clone, Copy)]
enum Item {
    Star,
    Last,
    Number(u64),
}

impl Set {
    fn add(&mut self, field: Field, item: Item) {
        match item {
            Item::Star => self.star = true,
            Item::Last => self.last = true,
            Item::Number(value) => {
                let offset = if field == Field::Year { field.first() } else { 0 };
                let n = usize::try_from(value - offset).unwrap_or(0);
                self.bits[n / 64] |= 1 << (n % 64);
            }
        }
    }
}

/// The digits of `15w` or `w15`.
fn nearest_weekday(item: &str) -> Option<&str> {
    let digits = item.strip_suffix('w').or_else(|| item.strip_prefix('w'))?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(digits)
}

#[derive(Clone, Copy)]
enum Nth<'e> {
    Last,
    Number(&'e str),
}

/// The parts of `5#2`, `mon-fri#2` or `l5`.
fn numbered_weekday(item: &str) -> Option<(&str, Nth<'_>)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_name = |text: &str| Field::WeekDay.named(text).is_some();
    if let Some((day, nth)) = item.split_once('#') {
        // A range may only be one of names: `1-5#2` is no form of its own and is refused as a plain value.
        let is_range = day.split_once('-').is_some_and(|(low, high)| is_name(low) && is_name(high));
        return (is_number(nth) && (is_range || !day.contains(['-', '/', '*'])))
            .then_some((day, Nth::Number(nth)));
    }
    let day = item.strip_prefix('l')?;
    is_number(day).then_some((day, Nth::Last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_column_and_the_reason() {
        for (expression, reason) in [
            (
                "",
                "a cron expression has 5 columns (minute, hour, day of month, month, day of week), 6 (and second) \
                  or 7 (and year); this has 0",
            ),
            ("61 * * * *", "minute \"61\": 61 is outside 0-59"),
            ("0 0-24 * * *", "hour \"0-24\": 24 is outside 0-23"),
            ("0 0 0 * *", "day of month \"0\": 0 is outside 1-31"),
            ("0 0 l-3 * *", "day of month \"l-3\": \"l\" is not a number, a range or *"),
            ("0 0 1,15w * *", "day of month \"1,15w\": w takes a single day, not one of a list"),
            ("0 0 32w * *", "day of month \"32w\": there is no day 32"),
            ("0 0 1? * *", "day of month \"1?\": ? cannot stand beside anything else"),
            ("? 0 * * *", "minute \"?\": ? is for the day of the month and the day of the week only"),
            (
                "0 0 1 january *",
                "month \"january\": \"january\" is not a number, a name (jan to dec), a range or *",
            ),
            ("0 0 * * 5L", "day of week \"5l\": \"5l\" is not a number, a name (sun to sat), a range or *"),
            (
                "0 0 * * 1-3#2",
                "day of week \"1-3#2\": \"3#2\" is not a number, a name (sun to sat), a range or *",
            ),
            ("0 0 * * 0#6", "day of week \"0#6\": a weekday comes up to five times a month, not 6"),
            (
                "0 0 * * 1,l5",
                "day of week \"1,l5\": numbered (5#2) and last (l5) weekdays cannot be mixed with \
                              plain ones",
            ),
            ("-1 * * * *", "minute \"-1\": negative numbers do not occur"),
            ("*/0 * * * *", "minute \"*/0\": a step of 0 leads nowhere"),
            ("*/x * * * *", "minute \"*/x\": the step of \"*/x\" is not a number"),
            ("0 0 * * 7 0", "day of week \"7\": 7 is outside 0-6"),
            ("0 0 1 1 * 0 1969", "year \"1969\": 1969 is outside 1970-2099"),
            (
                "99999999999999999999999 * * * *",
                "minute \"99999999999999999999999\": 18446744073709551615 is outside 0-59",
            ),
        ] {
            assert_eq!(Cron::parse(expression).unwrap_err().to_string(), reason, "{expression}");
        }
    }

    #[test]
    fn digits_are_ascii() {
        let error = Cron::parse("٣ * * * *").unwrap_err().to_string();
        assert_eq!(error, "minute \"٣\": \"٣\" is not a number, a range or *");
    }

    #[test]
    fn expressions_that_mean_the_same_are_equal() {
        for (one, other) in [
            ("@midnight", "0 0 * * *"),
            ("@ANNUALLY", "0 0 1 1 *"),
            ("0 0-0 * * *", "0 * * * *"),
            ("59/5 * * * *", "*/5 * * * *"),
            ("0 22-3 * * *", "0 0-3,22,23 * * *"),
            ("0 0 1 apr-jan/3 *", "0 0 1 1,4,7,10 *"),
            ("0 0 * * SUN", "0 0 * * 7"),
            ("0 0 ? * ?", "0 0 * * *"),
            ("0 0 15-l * *", "0 0 15-31 * *"),
            ("0 0 0 * * 0", "0 0 1 * * 0"),
            ("0 0 2-31,l * *", "0 0 * * *"),
            ("0 0 * * mon-wed#2", "0 0 * * 1#2,2#2,3#2"),
        ] {
            assert_eq!(Cron::parse(one).unwrap(), Cron::parse(other).unwrap(), "{one} and {other}");
        }
        assert!(!Cron::parse("0 *,5 * * *").unwrap().is_every_hour(), "a list with a star is not a star");
    }
}
