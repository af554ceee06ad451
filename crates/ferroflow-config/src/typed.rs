//! Single options as typed values, for code that asks by name.

use std::time::Duration;

use crate::configuration::Configuration;
use crate::error::Error;
use crate::rule::{self, Flag, List, Maybe, Number, Rule, WholeSeconds, at_least};

impl Configuration {
    /// An option as a truth value.
    pub fn boolean(&self, section: &str, key: &str) -> Result<bool, Error> {
        self.typed(section, key, &Flag)
    }

    /// An option as a whole number.
    pub fn integer(&self, section: &str, key: &str) -> Result<i64, Error> {
        self.typed(section, key, &at_least(i64::MIN))
    }

    /// An option as a number.
    pub fn float(&self, section: &str, key: &str) -> Result<f64, Error> {
        self.typed(section, key, &Number)
    }

    /// An option as the texts between its commas.
    pub fn list(&self, section: &str, key: &str) -> Result<Vec<String>, Error> {
        self.typed(section, key, &List)
    }

    /// An option as a span of whole seconds; `None` if it is empty or not set.
    pub fn seconds(&self, section: &str, key: &str) -> Result<Option<Duration>, Error> {
        self.typed(section, key, &Maybe(WholeSeconds))
    }

    fn typed<T>(&self, section: &str, key: &str, rule: &impl Rule<T>) -> Result<T, Error> {
        rule::read(self, section, key, rule)
    }
}
