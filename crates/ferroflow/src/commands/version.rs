//! `ferroflow version`

use std::io::Write;

use anyhow::Result;

/// The version of Airflow whose place ferroflow takes.
pub(crate) const AIRFLOW_VERSION: &str = "3.3.2";

pub(crate) fn run(out: &mut dyn Write) -> Result<()> {
    writeln!(out, "ferroflow {} (Airflow {AIRFLOW_VERSION})", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
