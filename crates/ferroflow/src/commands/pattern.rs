//! A regular expression that somebody typed.

use anyhow::{Result, anyhow};
use regex::Regex;

/// The expression, or what is wrong with it, in one line.
pub(crate) fn pattern(text: &str) -> Result<Regex> {
    Regex::new(text).map_err(|error| {
        let told = error.to_string();
        let problem = told.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        anyhow!("{text:?} is no regular expression: {problem}")
    })
}
