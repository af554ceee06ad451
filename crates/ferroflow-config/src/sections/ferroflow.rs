//! `[ferroflow]`: options that Airflow does not have.

use crate::convert;
use crate::rule::Rule;

section! {
    /// Ferroflow's own options.
    Ferroflow = "ferroflow" {
        /// Prepared statements kept per connection; 0, or `false`, for none (PgBouncer in transaction mode).
        database_statement_cache: usize = Capacity,
    }
}

const DEFAULT_CAPACITY: usize = 100;

/// A number of entries, or a truth value for the default number and none.
struct Capacity;

impl Rule<usize> for Capacity {
    fn parse(&self, text: &str) -> Result<usize, String> {
        if let Some(number) = convert::integer(text).and_then(|number| usize::try_from(number).ok()) {
            return Ok(number);
        }
        match convert::boolean(text) {
            Some(true) => Ok(DEFAULT_CAPACITY),
            Some(false) => Ok(0),
            None => Err("a whole number, 0 or more, or true or false".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("0" => Some(0))]
    #[test_case("1" => Some(1); "one entry, not true")]
    #[test_case("250" => Some(250))]
    #[test_case("true" => Some(DEFAULT_CAPACITY))]
    #[test_case("False" => Some(0))]
    #[test_case("-1" => None)]
    #[test_case("many" => None)]
    fn capacities(text: &str) -> Option<usize> {
        Capacity.parse(text).ok()
    }
}
