//! The options that ferroflow obeys, one table per section.
//!
//! A line of a table is `name: type = rule`. The name is the option's name; the rules are in `rule.rs`; the
//! default is Airflow's, or for an `Unlisted` option the one that stands beside the rule.

/// Makes a struct of a table, and a function that reads it.
macro_rules! section {
    (
        $(#[$about:meta])*
        $name:ident = $section:literal {
            $( $(#[$note:meta])* $option:ident: $type:ty = $rule:expr, )*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $(
                #[doc = concat!("`[", $section, "] ", stringify!($option), "`")]
                #[doc = ""]
                $(#[$note])*
                pub $option: $type,
            )*
        }

        impl $name {
            #[cfg(test)]
            pub(crate) const OPTIONS: (&str, &[&str]) = ($section, &[$( stringify!($option) ),*]);

            /// Every option is read before the first problem counts, so that all of them are reported.
            pub(crate) fn read(reader: &mut $crate::rule::Reader<'_>) -> Option<Self> {
                $( let $option: Option<$type> = reader.read($section, stringify!($option), &$rule); )*
                Some(Self { $( $option: $option?, )* })
            }
        }
    };
}

mod api;
mod celery;
mod core;
mod dag_processor;
mod database;
mod ferroflow;
mod logging;
mod metrics;
mod scheduler;
mod triggerer;
mod workers;

pub use api::{Api, ApiAuth, ExecutionApi};
pub use celery::Celery;
pub use core::{Core, Operators};
pub use dag_processor::DagProcessor;
pub use database::Database;
pub use ferroflow::Ferroflow;
pub use logging::Logging;
pub use metrics::{Metrics, Traces};
pub use scheduler::{ConnectionTest, Scheduler};
pub use triggerer::Triggerer;
pub use workers::{Callbacks, Secrets, StateStore, Workers};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::FACTS;

    /// A misspelt optional option would be silently absent.
    #[test]
    fn every_option_is_known() {
        let tables = [
            Api::OPTIONS,
            ApiAuth::OPTIONS,
            Callbacks::OPTIONS,
            Celery::OPTIONS,
            ConnectionTest::OPTIONS,
            Core::OPTIONS,
            DagProcessor::OPTIONS,
            Database::OPTIONS,
            ExecutionApi::OPTIONS,
            Ferroflow::OPTIONS,
            Logging::OPTIONS,
            Metrics::OPTIONS,
            Operators::OPTIONS,
            Scheduler::OPTIONS,
            Secrets::OPTIONS,
            StateStore::OPTIONS,
            Traces::OPTIONS,
            Triggerer::OPTIONS,
            Workers::OPTIONS,
        ];
        let unknown: Vec<String> = tables
            .iter()
            .flat_map(|(section, options)| options.iter().map(move |option| (*section, *option)))
            .filter(|(section, option)| FACTS.option(section, option).is_none())
            .map(|(section, option)| format!("[{section}] {option}"))
            .collect();
        assert_eq!(
            unknown,
            ["[scheduler] num_stuck_in_queued_retries"],
            "the one that Airflow does not list"
        );
    }
}
