//! A cron expression in English, word for word as Airflow shows it.
//!
//! Airflow asks two libraries: croniter whether it takes the expression, then `cron_descriptor` for the words. The
//! second works on the text of each column, knows little of what it means, and garbles what it did not expect
//! (`2,5/9` in the minutes: "at 2 and every 9 minutes,  minutes past the hour"). The words are the product here,
//! the garbled ones too. Digits beyond ASCII, which croniter takes, are refused.

mod days;
mod normalize;
mod phrase;
mod time_of_day;

use days::{day_of_month, months, weekdays};
use normalize::normalized;
use time_of_day::time_of_day;

use super::{Cron, parse};

/// What a timetable's cron expression means, in a sentence without a full stop.
///
/// Empty, as Airflow's is, if there are not five columns (a timetable has replaced the presets that it knows, so
/// any `@…` counts as one), if croniter refuses the expression, or if the words fail it.
pub fn describe(expression: &str) -> String {
    if Cron::parse(expression).is_err() {
        return String::new();
    }
    columns(expression).and_then(describe_columns).unwrap_or_default()
}

/// The columns, if they are five.
fn columns(expression: &str) -> Option<[&str; 5]> {
    let mut words = parse::columns(expression);
    let five = [words.next()?, words.next()?, words.next()?, words.next()?, words.next()?];
    words.next().is_none().then_some(five)
}

/// Cron runs on a day that matches either day column if both are restricted, which one sentence would not say.
/// Only a bare `*` counts as unrestricted: `?` gives a sentence of its own.
fn describe_columns([minute, hour, day, month, weekday]: [&str; 5]) -> Option<String> {
    if day == "*" || weekday == "*" {
        return sentence([minute, hour, day, month, weekday]);
    }
    let by_day = sentence([minute, hour, day, month, "*"])?;
    let by_weekday = sentence([minute, hour, "*", month, weekday])?;
    Some(format!("{by_day} (or) {by_weekday}"))
}

fn sentence(columns: [&str; 5]) -> Option<String> {
    let fields = normalized(columns);
    let mut text = time_of_day(&fields.minute, &fields.hour)?;
    text += &day_of_month(&fields.day, &fields.weekday)?;
    text += &weekdays(&fields.weekday)?;
    text += &months(&fields.month)?;
    Some(capitalized(without_the_obvious(&text)))
}

/// Removes "every minute" and its like wherever something stands before it, even from the middle of a list, and the
/// comma that may be left at the end.
fn without_the_obvious(text: &str) -> String {
    let text = text.replace(", every minute", "").replace(", every hour", "").replace(", every day", "");
    let end = text.strip_suffix(' ').unwrap_or(&text);
    end.strip_suffix(',').unwrap_or(&text).to_owned()
}

fn capitalized(mut text: String) -> String {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// A number, or a very large one in place of one that is larger still.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Every text in these tables is what Airflow 3.3.2 makes of the expression.

    fn assert_described(expected: &[(&str, &str)]) {
        for (expression, text) in expected {
            assert_eq!(describe(expression), *text, "{expression}");
        }
    }

    fn assert_not_described(expressions: &[&str]) {
        for expression in expressions {
            assert_eq!(describe(expression), "", "{expression}");
        }
    }

    #[test]
    fn times() {
        assert_described(&[
            ("* * * * *", "Every minute"),
            ("0 * * * *", "Every hour"),
            ("00 * * * *", "At 00 minutes past the hour"),
            ("0 0 * * *", "At 00:00"),
            (" 0\t 0\u{a0}*\u{1f}* *\n", "At 00:00"),
            ("30 6,14,16 * * *", "At 06:30, 14:30 and 16:30"),
            ("0-10 11 * * *", "Every minute between 11:00 and 11:10"),
            ("*/5 3 * * *", "Every 5 minutes, between 03:00 and 03:59"),
            ("0/15 * * * *", "Every 15 minutes"),
            (
                "7/15 1-5 * * *",
                "Every 15 minutes, starting at 7 minutes past the hour, between 01:00 and 05:59",
            ),
            ("0 9-17 * * *", "At 0 minutes past the hour, between 09:00 and 17:59"),
            ("0,30 8-10,15 * * *", "At 0 and 30 minutes past the hour, at 08:00 through 10:59 and 15:00"),
            ("5,20,35 */2 * * *", "At 5, 20, and 35 minutes past the hour, every 2 hours"),
            ("50-39 * * * *", "Minutes 50 through 39 past the hour"),
        ]);
    }

    #[test]
    fn days_of_the_month_and_months() {
        assert_described(&[
            ("0 0 1 */3 *", "At 00:00, on day 1 of the month, every 3 months"),
            ("0 0 1 1 *", "At 00:00, on day 1 of the month, only in January"),
            ("0 0 L * *", "At 00:00, on the last day of the month"),
            ("0 0 l * *", "At 00:00, on day l of the month"),
            ("0 0 15W * *", "At 00:00, on the weekday nearest day 15 of the month"),
            ("0 0 W1 * *", "At 00:00, on the first weekday of the month"),
            ("0 0 15w * *", "At 00:00, on day 15w of the month"),
            ("0 0 10-l * *", "At 00:00, between day 10 and l of the month"),
            ("0 0 26/9 * *", "At 00:00, every 9 days, starting on day 26 of the month"),
            ("0 0 5/1 * *", "At 00:00, starting on day 5 of the month"),
            ("0 0 * jan-Mar,NOV *", "At 00:00, only in January through March and November"),
            ("0 0 * 3/2 *", "At 00:00, every 2 months, March through December"),
            ("0 0 * JAN/3 *", "At 00:00, every 3 months, January through December"),
        ]);
    }

    #[test]
    fn days_of_the_week() {
        assert_described(&[
            ("0 0 * * 0", "At 00:00, only on Sunday"),
            ("0 0 * * 1-5", "At 00:00, Monday through Friday"),
            ("0 0 * * sat-7", "At 00:00, Saturday through Sunday"),
            ("0 0 * * mon#2", "At 00:00, on the second Monday of the month"),
            ("0 0 * * 7#02", "At 00:00, on the second Sunday of the month"),
            ("0 0 * * mon-fri#1", "At 00:00, Monday through Friday"),
            ("0 0 * * l5", "At 00:00, on the last Friday of the month"),
            ("0 0 * * FRI/2", "At 00:00, every 2 weeks, only on Friday"),
            ("0 0 * * 1,3/2", "At 00:00, every 2 weeks, only on Monday and Wednesday"),
            ("0 0 * * 1-7/2", "At 00:00, every 2 days of the week, Monday through Sunday"),
            ("0 0 * * 1-3/3", "At 00:00, every 3 weeks, Monday through Wednesday"),
        ]);
    }

    #[test]
    fn two_day_columns_are_two_sentences() {
        assert_described(&[
            ("0 0 1 * mon", "At 00:00, on day 1 of the month (or) At 00:00, only on Monday"),
            ("0 0 ? * ?", "At 00:00 (or) At 00:00"),
            ("0 0 ? * 1", "At 00:00 (or) At 00:00, only on Monday"),
            ("0 0 */1 * 1-5", "At 00:00 (or) At 00:00, Monday through Friday"),
        ]);
    }

    #[test]
    fn what_the_reference_garbles_is_garbled() {
        assert_described(&[
            ("2,5/9 * * * *", "At 2 and every 9 minutes,  minutes past the hour"),
            ("0/5,30/7 * * * *", "At every 5 minutes and every 7 minutes,  minutes past the hour"),
            ("0,30 5,10/5 * * *", "At 0 and 30 minutes past the hour, at 05:00 and every 5 hours"),
            ("0 0 5,*/1,6 * *", "At 00:00, on day 5, and 6 of the month"),
            ("0 0 *,5 * *", "At 00:00, on day * and 5 of the month"),
            ("0 0 * * 1#2,3#1", "At 00:00, on the  Monday and Wednesday of the month"),
            (
                "r/5 0 r(1-5) * *",
                "Every 5 minutes, starting at r minutes past the hour, between 00:00 and 00:59, \
                 between day r(1 and 5) of the month",
            ),
        ]);
    }

    #[test]
    fn what_is_not_five_columns_has_no_description() {
        assert_not_described(&["", "@midnight", "0 0 * *", "0 0 * * * 0", "0 0 * * 1 0 2030"]);
    }

    #[test]
    fn what_croniter_refuses_has_no_description() {
        assert_not_described(&["60 * * * *", "*/0 * * * *", "1,,2 * * * *", "h * * * *", "0 0 0 * *"]);
        assert_not_described(&["0 0 LW * *", "0 0 1,15W * *", "0 0 L-3 * *", "0 0 r(5-1) * *"]);
        assert_not_described(&["0 0 * * 5L", "0 0 * * 1-5#1", "0 0 * * 1#2,3"]);
    }

    #[test]
    fn what_has_no_name_has_no_description() {
        assert_not_described(&["0 0 * * 07", "0 0 * 5-0 *", "0 *,5 * * *", "0 0 * * *,5", "r 0 * * *"]);
    }

    #[test]
    fn any_text_has_an_answer() {
        let digits = "9".repeat(4_000);
        assert_eq!(describe(&format!("*/{digits} * * * *")), format!("Every {digits} minutes"));
        assert_eq!(describe(&format!("{digits} * * * *")), "");
        assert!(describe(&format!("{}0 0 * * 5", "0,".repeat(100_000))).ends_with(", only on Friday"));
        assert_not_described(&["é \u{200b} 🎉 W日 Lé", &"* ".repeat(100_000), &"\u{3000}".repeat(100_000)]);
    }
}
