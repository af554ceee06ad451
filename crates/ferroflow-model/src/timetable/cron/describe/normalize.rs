//! The columns, rewritten so that fewer forms are left to put into words.

use crate::timetable::calendar_names::{MONTHS, WEEKDAYS};

/// The columns of an expression as they are put into words.
pub(super) struct Fields {
    pub(super) minute: String,
    pub(super) hour: String,
    pub(super) day: String,
    pub(super) month: String,
    pub(super) weekday: String,
}

/// Numbers for names, `*` for `?` and for steps that start at the beginning, 0 for a Sunday that is 7.
pub(super) fn normalized([minute, hour, day, month, weekday]: [&str; 5]) -> Fields {
    let minute = star_for_start(minute, "0/");
    let hour = within_the_hour(star_for_start(hour, "0/"), &minute);
    let day = star_for_start(&day.replace('?', "*"), "1/");
    let month = numbered(&star_for_start(month, "1/"), 1, &MONTHS);
    let weekday = sunday_is_zero(&star_for_start(&weekday.replace('?', "*"), "1/"));
    let weekday = numbered(&weekday, 0, &WEEKDAYS);
    Fields {
        minute: star_for_every_one(minute),
        hour: star_for_every_one(hour),
        day: star_for_every_one(day),
        month: closed(star_for_every_one(month), 12),
        weekday: closed(star_for_every_one(weekday), 6),
    }
}

/// `0/5` means `*/5`. In a column that begins so, the rest of the list is rewritten too, and even the end of a
/// longer number: `0/5,30/7` becomes `*/5,3*/7`.
fn star_for_start(field: &str, start: &str) -> String {
    if field.starts_with(start) { field.replace(start, "*/") } else { field.to_owned() }
}

/// `*/5 3` runs from 03:00 to 03:59: one hour becomes a range, to be told as such.
fn within_the_hour(hour: String, minute: &str) -> String {
    let repeats = minute.contains(['*', '/']);
    if repeats && !hour.contains(['*', '-', ',', '/']) { format!("{hour}-{hour}") } else { hour }
}

/// A 7 counts as a day where it begins a number, and is not a step nor the number of a week. So `07` is not one.
fn sunday_is_zero(field: &str) -> String {
    let mut before = ',';
    field
        .chars()
        .map(|c| {
            let begins_a_day = !before.is_ascii_digit() && !matches!(before, '#' | '/');
            before = c;
            if c == '7' && begins_a_day { '0' } else { c }
        })
        .collect()
}

fn numbered(field: &str, first: usize, names: &[&str]) -> String {
    names.iter().enumerate().fold(field.to_ascii_uppercase(), |field, (index, name)| {
        field.replace(&name[..3].to_ascii_uppercase(), &(first + index).to_string())
    })
}

fn star_for_every_one(field: String) -> String {
    if field == "*/1" { "*".to_owned() } else { field }
}

/// `3/2` has no end; `3-12/2` says the same and has one.
fn closed(field: String, last: usize) -> String {
    match field.split_once('/') {
        Some((start, step)) if !field.contains(['*', '-', ',']) => format!("{start}-{last}/{step}"),
        _ => field,
    }
}
