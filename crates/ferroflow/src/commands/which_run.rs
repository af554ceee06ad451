//! A run as it was typed: by its name or by its logical date.

use ferroflow_config::Configuration;
use ferroflow_operations::dag_run::RunName;

use super::foreground::logical_date;

pub(crate) fn run_name<'a>(configuration: &Configuration, dag_id: &'a str, text: &'a str) -> RunName<'a> {
    // What is no date is a name that no run has.
    RunName { dag_id, text, logical_date: logical_date(text, configuration).ok() }
}
