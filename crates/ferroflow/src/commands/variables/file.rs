//! Variables in a file.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ferroflow_db::Db;
use ferroflow_db::variable::Variable;
use ferroflow_execution::api::PutVariable;
use serde_json::{Map, Value, json};

use super::{ImportArgs, Keeper, OnExisting, names};
use crate::commands::secret_file;
use crate::output::{Format, Progress, indented_json, note, python_literal, sorted};
use crate::session::Session;

pub(super) async fn import(args: &ImportArgs, session: &Session, db: &Db, out: &mut dyn Write) -> Result<()> {
    let variables = secret_file::read(&args.file)?;
    let known: BTreeSet<String> = names(db).await?.into_iter().collect();
    let there: BTreeSet<&str> =
        variables.keys().map(String::as_str).filter(|key| known.contains(*key)).collect();
    if args.action_on_existing_key == OnExisting::Fail && !there.is_empty() {
        bail!("Failed. These keys: {} already exists.", python_list(&there));
    }
    let is_skipped = |key: &str| args.action_on_existing_key == OnExisting::Skip && there.contains(key);
    let keeper = Keeper::open(session, db).await?;
    let mut progress = Progress::new(variables.len(), "variables", Format::Table);
    let (mut good, mut bad, mut skipped) = (0, 0, BTreeSet::new());
    for (done, (key, value)) in variables.iter().enumerate() {
        progress.tell(done);
        if is_skipped(key) {
            skipped.insert(key.as_str());
            continue;
        }
        match keeper.service().put_variable(&wanted(key, value)).await {
            Ok(()) => good += 1,
            Err(refusal) => {
                writeln!(out, "Variable import failed: {}", refusal.sentence())?;
                bad += 1;
            }
        }
    }
    drop(progress);
    keeper.close().await;
    if good > 0 {
        session.warn_of_plain_text("variables");
    }
    writeln!(out, "{good} of {} variables successfully updated.", variables.len())?;
    if bad > 0 {
        writeln!(out, "{bad} variable(s) failed to be updated.")?;
    }
    if !skipped.is_empty() {
        let keys = python_list(&skipped);
        writeln!(out, "The variables with these keys: {keys} were skipped because they already exists")?;
    }
    Ok(())
}

/// A value of a file: with a description if it is an object that has a value.
fn wanted(key: &str, value: &Value) -> PutVariable {
    let (value, description) = match value.as_object().and_then(|object| Some((object, object.get("value")?)))
    {
        Some((object, value)) => (value, object.get("description").and_then(Value::as_str)),
        None => (value, None),
    };
    let text = value.as_str().map_or_else(|| indented_json(value, 2), str::to_owned);
    PutVariable { key: key.to_owned(), value: Some(text), description: description.map(str::to_owned) }
}

fn python_list(words: &BTreeSet<&str>) -> String {
    let words: Vec<String> = words.iter().map(|word| python_literal(word)).collect();
    format!("[{}]", words.join(", "))
}

/// Writes all variables, such that importing them gives the same.
pub(super) fn export(variables: &[Variable], path: &Path, out: &mut dyn Write) -> Result<()> {
    let mut all = Map::new();
    for variable in variables {
        let value = match serde_json::from_str(&variable.val) {
            Ok(Value::String(_)) | Err(_) => Value::from(variable.val.as_str()),
            Ok(value) => value,
        };
        let description = variable.description.as_deref().filter(|text| !text.is_empty());
        let has_value = value.get("value").is_some();
        let entry = if description.is_some() || has_value {
            json!({"value": value, "description": variable.description})
        } else {
            value
        };
        all.insert(variable.key.clone(), entry);
    }
    let text = indented_json(&sorted(Value::Object(all)), 4);
    if path == Path::new("-") {
        write!(out, "{text}")?;
        out.flush()?;
        return Ok(note(&format!("{} Variables successfully exported.", variables.len()))?);
    }
    secret_file::write(path, &text).context("the variables are not exported")?;
    Ok(writeln!(out, "{} Variables successfully exported to {}.", variables.len(), path.display())?)
}
