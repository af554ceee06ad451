//! The scheduler: its parts, its cycle on every database, and whole schedulers on a clock of their own.

mod bad_database;
mod bad_rows;
mod beside_airflow;
mod chores;
mod driven;
mod runs;
mod simulation;
mod tasks;
mod user_code;
mod why;
