//! A date or time that an option gives.

use std::str::FromStr;

use anyhow::Result;
use ferroflow_config::Configuration;
use ferroflow_model::timetable::Zone;
use jiff::Timestamp;

use super::foreground::{NOT_A_DATE, logical_date, read_date};

/// A date or a time. Without an offset it is what the clocks of `[core] default_timezone` show.
#[derive(Clone, Debug)]
pub(crate) struct DateArg(String);

impl FromStr for DateArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read_date(text, &Zone::UTC).map(|_| Self(text.to_owned())).ok_or(NOT_A_DATE)
    }
}

impl DateArg {
    /// When that is.
    pub(crate) fn at(&self, configuration: &Configuration) -> Result<Timestamp> {
        logical_date(&self.0, configuration)
    }
}
