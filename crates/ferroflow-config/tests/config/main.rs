//! The configuration beside that of the real Airflow.

mod airflow_parity;
mod bad_input;
mod settings;
