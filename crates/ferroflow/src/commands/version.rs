//! `ferroflow version`

use std::io::Write;

use anyhow::Result;

macro_rules! airflow_version {
    () => {
        "3.3.2"
    };
}

/// The version of Airflow whose place ferroflow takes.
pub(crate) const AIRFLOW_VERSION: &str = airflow_version!();

/// The version of this program, and the version of Airflow that it stands in for.
pub(crate) const NUMBERS: &str = concat!(env!("CARGO_PKG_VERSION"), " (Airflow ", airflow_version!(), ")");

pub(crate) fn run(out: &mut dyn Write) -> Result<()> {
    writeln!(out, "ferroflow {NUMBERS}")?;
    Ok(())
}
