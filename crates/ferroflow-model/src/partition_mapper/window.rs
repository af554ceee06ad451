//! What a period is made of.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use jiff::civil::Date;

use super::problem::{KeyProblem, Result};
use super::{Direction, Period, Window};
use crate::timetable::local_time::LocalTime;

/// A period, or a part of one.
pub(super) enum Member {
    Time(LocalTime<'static>),
    Text(String),
}

impl Window {
    /// The parts of a period, in their order. Times are those of a clock that never changes; the zone comes in
    /// when keys are made of them.
    pub(super) fn members(&self, period: &Member) -> Result<Vec<Member>> {
        let times = match (self, period) {
            (Self::Segments(segments), _) => {
                let different: BTreeSet<&String> = segments.iter().collect();
                return Ok(different.into_iter().cloned().map(Member::Text).collect());
            }
            (Self::Custom { class, .. }, _) => {
                return Err(KeyProblem::NeedsPython { class: class.clone() });
            }
            (Self::Period { .. }, Member::Text(_)) => return Err(KeyProblem::NotATime),
            (Self::Period { period, direction }, Member::Time(time)) => match period {
                Period::Hour => steps(time, 60, SignedDuration::from_mins(1), *direction),
                Period::Day => steps(time, 24, SignedDuration::from_hours(1), *direction),
                Period::Week => steps(time, 7, DAY, *direction),
                Period::Month => days_of_month(time, *direction),
                Period::Quarter => months(time, 3, *direction),
                Period::Year => months(time, 12, *direction),
            },
        }?;
        Ok(times.into_iter().map(Member::Time).collect())
    }
}

const DAY: SignedDuration = SignedDuration::from_hours(24);

type Times = Vec<LocalTime<'static>>;

/// So many steps, of which the first or the last is the given time.
fn steps(
    anchor: &LocalTime<'static>,
    count: i32,
    step: SignedDuration,
    direction: Direction,
) -> Result<Times> {
    let first = match direction {
        Direction::Forward => 0,
        Direction::Backward => 1 - count,
    };
    let times = (first..first + count).map(|i| anchor.moved(step * i).ok_or(KeyProblem::OutOfRange));
    times.collect()
}

/// The days from one first of a month up to the next. Backward they end with the given one, and do not begin with
/// the first of the month before: they are as many as that month has.
fn days_of_month(anchor: &LocalTime<'static>, direction: Direction) -> Result<Times> {
    check_first_day(anchor)?;
    let date = anchor.wall.date();
    let month = match direction {
        // Its end has to be a date too.
        Direction::Forward => shifted(date, 1).map(|_| date)?,
        Direction::Backward => shifted(date, -1)?,
    };
    steps(anchor, month.days_in_month().into(), DAY, direction)
}

fn months(anchor: &LocalTime<'static>, count: i32, direction: Direction) -> Result<Times> {
    check_first_day(anchor)?;
    let first = match direction {
        Direction::Forward => 0,
        Direction::Backward => 1 - count,
    };
    let month = |i| Ok(anchor.with_wall(shifted(anchor.wall.date(), i)?.to_datetime(anchor.wall.time())));
    (first..first + count).map(month).collect()
}

fn check_first_day(anchor: &LocalTime<'_>) -> Result<()> {
    let date = anchor.wall.date();
    if date.day() == 1 { Ok(()) } else { Err(KeyProblem::NotAFirstDay { date: date.to_string() }) }
}

/// The first of the month that lies so many months away.
fn shifted(first: Date, months: i32) -> Result<Date> {
    let since_year_0 = i32::from(first.year()) * 12 + i32::from(first.month()) - 1 + months;
    let year = i16::try_from(since_year_0.div_euclid(12)).ok().filter(|year| *year >= 1);
    let month = i8::try_from(since_year_0.rem_euclid(12) + 1).ok();
    let date = year.zip(month).and_then(|(year, month)| Date::new(year, month, 1).ok());
    date.ok_or(KeyProblem::OutOfRange)
}
