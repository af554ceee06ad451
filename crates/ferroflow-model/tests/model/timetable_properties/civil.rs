//! Expressions of every kind, on civil time.

use ferroflow_model::timetable::cron::Cron;
use jiff::civil::DateTime;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::timetable_properties::generate::{civil_time, expression};
use crate::timetable_properties::tally::Tally;

#[test]
fn next_and_previous_agree_on_civil_time() {
    let tally = Tally::default();
    let property = |(expression, start): (String, DateTime)| {
        let cron = Cron::parse(&expression).unwrap();
        let Some(next) = cron.next(start) else {
            tally.passed_over("never again");
            return Ok(());
        };
        prop_assert!(next > start);
        prop_assert_eq!(next.subsec_nanosecond(), 0);
        let Some(previous) = cron.previous(next) else {
            tally.passed_over("never before");
            return Ok(());
        };
        prop_assert!(previous <= start, "{previous} lies between {start} and its next match {next}");
        // It may be more than 50 years from the one before to the one after: too far for a search.
        let again = cron.next(previous);
        prop_assert!(again == Some(next) || (again.is_none() && next.year() - previous.year() > 50));
        if let Some(previous) = cron.previous(start) {
            prop_assert!(previous < start);
            prop_assert!(cron.next(previous).is_none_or(|next| next >= start));
        }
        tally.checked();
        Ok(())
    };
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() });
    runner.run(&(expression(), civil_time()), property).unwrap();
    // Years come in every twentieth expression; 31 April in few.
    tally.check(1700, &[("never again", 90), ("never before", 60)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_an_expression_or_an_error(text in "\\PC{0,40}") {
        let _ = Cron::parse(&text);
    }

    #[test]
    fn any_text_of_cron_characters_is_an_expression_or_an_error(text in "[0-9*/,#?lwLWhrmontueja()@ -]{0,40}") {
        if let Ok(cron) = Cron::parse(&text) {
            let start = DateTime::constant(2024, 2, 29, 12, 0, 0, 0);
            prop_assert!(cron.next(start).is_none_or(|next| next > start));
            prop_assert!(cron.previous(start).is_none_or(|previous| previous < start));
        }
    }
}
