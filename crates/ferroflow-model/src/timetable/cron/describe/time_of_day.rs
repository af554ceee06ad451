//! Minutes and hours in words, together where they make one time.

use super::number;
use super::phrase::{Wording, phrase};

/// The beginning of the sentence, or None if a column holds what is not a number.
pub(super) fn time_of_day(minute: &str, hour: &str) -> Option<String> {
    if is_plain(minute) && is_plain(hour) {
        return Some(format!("At {}", clock(hour, minute)?));
    }
    if is_plain(hour)
        && !minute.contains(',')
        && let Some((from, to)) = minute.split_once('-')
    {
        return Some(format!("Every minute between {} and {}", clock(hour, from)?, clock(hour, to)?));
    }
    if is_plain(minute) && hour.contains(',') && !hour.contains('-') {
        return at_each_hour(hour, minute);
    }
    let minutes =
        phrase(minute, &Minutes { hour_is_range: hour.contains('-') && !hour.contains(['/', ',']) })?;
    let hours = phrase(hour, &Hours)?;
    Some(if minutes.is_empty() { hours } else { format!("{minutes}, {hours}") })
}

fn is_plain(field: &str) -> bool {
    !field.contains(['/', '-', ',', '*'])
}

fn clock(hour: &str, minute: &str) -> Option<String> {
    Some(format!("{:02}:{:02}", number(hour)?, number(minute)?))
}

/// "At 06:30, 14:30 and 16:30". Unlike in other lists, no comma stands before the last.
fn at_each_hour(hours: &str, minute: &str) -> Option<String> {
    let times: Vec<String> = hours.split(',').map(|hour| clock(hour, minute)).collect::<Option<_>>()?;
    let (last, others) = times.split_last()?;
    Some(format!("At {} and {last}", others.join(", ")))
}

struct Minutes {
    hour_is_range: bool,
}

impl Wording for Minutes {
    const EVERY: &'static str = "every minute";

    /// Whatever is there, as it is there: `05` keeps its zero.
    fn item(&self, value: &str) -> Option<String> {
        Some(value.to_owned())
    }

    fn step(&self, step: &str) -> String {
        format!("every {step} minutes")
    }

    fn between(&self, from: &str, to: &str) -> String {
        format!("minutes {from} through {to} past the hour")
    }

    /// The full hour goes without saying, except in a range of hours, which is told with minutes.
    fn only(&self, field: &str, words: &str) -> String {
        if field == "0" && !self.hour_is_range {
            return String::new();
        }
        format!("at {words} minutes past the hour")
    }
}

struct Hours;

impl Wording for Hours {
    const EVERY: &'static str = "every hour";

    fn item(&self, value: &str) -> Option<String> {
        clock(value, "00")
    }

    /// A range of hours lasts to the end of its last hour.
    fn end(&self, value: &str) -> Option<String> {
        clock(value, "59")
    }

    fn step(&self, step: &str) -> String {
        format!("every {step} hours")
    }

    fn between(&self, from: &str, to: &str) -> String {
        format!("between {from} and {to}")
    }

    fn only(&self, _field: &str, words: &str) -> String {
        format!("at {words}")
    }
}
