//! `[ferroflow]`: options that Airflow does not have.

use std::path::PathBuf;
use std::time::Duration;

use crate::convert;
use crate::rule::{Maybe, Path, Rule, Seconds, at_least};

section! {
    /// Ferroflow's own options.
    Ferroflow = "ferroflow" {
        /// Prepared statements kept per connection; 0, or `false`, for none (PgBouncer in transaction mode).
        database_statement_cache: usize = Capacity,
        /// The Python that runs user code. Without it: that of `ferroflow python install`, the active virtualenv's, or
        /// `python3`.
        python: Option<PathBuf> = Maybe(Path),
        /// How long a custom timetable may take for an answer.
        timetable_timeout: Duration = Seconds,
        /// How long weight rules, `task_instance_mutation_hook` and listeners may take for what they are asked.
        user_code_timeout: Duration = Seconds,
        /// In MiB in the configuration, 0 for no limit: what a process that parses a DAG file may use. Bytes here.
        parsing_memory_limit: Option<u64> = Mebibytes,
        /// How long a DAG bundle may take to be initialized or refreshed.
        bundle_timeout: Duration = Seconds,
        /// How many DAG files are kept imported, for tasks to be forked from; 0 to have each task import its file.
        task_templates: u32 = at_least(0),
        /// How many tasks of a file that is kept imported one process runs, one after the other.
        tasks_per_process: u32 = at_least(1),
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

/// An amount of memory in MiB, or 0 for no limit.
struct Mebibytes;

impl Rule<Option<u64>> for Mebibytes {
    fn parse(&self, text: &str) -> Result<Option<u64>, String> {
        let number = convert::integer(text).and_then(|number| u64::try_from(number).ok());
        let number = number.ok_or_else(|| "a whole number of MiB, 0 for no limit".to_owned())?;
        Ok((number > 0).then(|| number.saturating_mul(1 << 20)))
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("0" => Ok(None))]
    #[test_case("2" => Ok(Some(2_097_152)))]
    #[test_case("-1" => Err(()))]
    fn amounts_of_memory(text: &str) -> Result<Option<u64>, ()> {
        Mebibytes.parse(text).map_err(drop)
    }

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
