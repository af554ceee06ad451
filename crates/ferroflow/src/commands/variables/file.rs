//! Variables in a file.

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};
use ferroflow_model::{indented_json, python_literal, sorted_json};
use ferroflow_operations::Operations;
use ferroflow_operations::variable::{self, ImportRequest};
use ferroflow_telemetry::chain;
use serde_json::Value;

use super::ImportArgs;
use crate::commands::operations::logged_if_failed;
use crate::commands::secret_file;
use crate::output::{Format, Progress, note};
use crate::session::Session;

pub(super) async fn import(
    args: &ImportArgs,
    session: &Session,
    operations: &Operations,
    out: &mut dyn Write,
) -> Result<()> {
    let file = secret_file::read(&args.file);
    let variables = logged_if_failed(operations, &variable::IMPORT, file).await?;
    let number = variables.len();
    let mut progress = Progress::new(number, "variables", Format::Table);
    let request = ImportRequest { variables, on_existing: args.action_on_existing_key.into() };
    let imported = variable::import(operations, &request, |done| progress.tell(done)).await?;
    drop(progress);
    for error in &imported.failed {
        writeln!(out, "Variable import failed: {}", chain(error))?;
    }
    if imported.updated > 0 {
        session.warn_of_plain_text("variables");
    }
    writeln!(out, "{} of {number} variables successfully updated.", imported.updated)?;
    if !imported.failed.is_empty() {
        writeln!(out, "{} variable(s) failed to be updated.", imported.failed.len())?;
    }
    if !imported.skipped.is_empty() {
        let keys: Vec<String> = imported.skipped.iter().map(|key| python_literal(key)).collect();
        let keys = keys.join(", ");
        writeln!(out, "The variables with these keys: [{keys}] were skipped because they already exists")?;
    }
    Ok(())
}

/// Writes all variables, such that importing them gives the same.
pub(super) async fn export(operations: &Operations, path: &Path, out: &mut dyn Write) -> Result<()> {
    let variables = variable::export(operations).await?;
    let number = variables.len();
    let text = indented_json(&sorted_json(Value::Object(variables)), 4);
    if path == Path::new("-") {
        write!(out, "{text}")?;
        out.flush()?;
        return Ok(note(&format!("{number} Variables successfully exported."))?);
    }
    secret_file::write(path, &text).context("the variables are not exported")?;
    Ok(writeln!(out, "{number} Variables successfully exported to {}.", path.display())?)
}
