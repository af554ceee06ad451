//! Vectors recorded of the real Airflow, and rules of the sources.

mod admission_vectors;
mod partition_vectors;
mod properties;
mod retry_vectors;
mod run_vectors;
mod scheduling_vectors;
mod serialized_dags;
mod tidy;
mod timetable_vectors;
