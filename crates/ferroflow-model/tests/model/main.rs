//! Decisions: by examples, by properties, and beside what Airflow decided.

mod admission;
mod fuzz_corpus;
mod readiness;
mod runs;
mod schedules_cron_cannot_say;
mod serialized_dags;
mod states_document;
mod timetable_properties;
