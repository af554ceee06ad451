//! The program, as it is installed: what it prints, stores and runs, and how it fares when things go wrong.

mod bad_input;
mod cli;
mod commands;
mod dag_processing;
mod dags;
mod dags_parsing;
mod doctor;
mod execution;
mod faults;
mod python;
mod scheduler;
mod schema;
mod standalone;
mod timetable_bad_input;
mod timetable_clock_changes;
mod timetable_preview;
mod timetable_times;
