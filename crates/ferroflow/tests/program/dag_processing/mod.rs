//! `ferroflow dag-processor`: what it writes beside what official Airflow writes, and what cannot stop it.

mod accepted;
mod bundles;
mod callbacks;
mod differences;
mod differential;
mod duplicates;
mod hostile;
mod killed;
mod locked;
mod memory;
mod official;
mod refused;
mod timetables;

const FERROFLOW: &str = env!("CARGO_BIN_EXE_ferroflow");
