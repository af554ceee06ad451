//! What is questionable about the DAGs of a file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ferroflow_db::dag::warning::DagWarning;
use ferroflow_db::{Error, Tx, dag};

use super::fits::fitting;
use super::write::Job;

/// The kinds that a parse finds. The others come from elsewhere.
const FOUND_BY_PARSING: [&str; 2] = ["non-existent pool", "runtime varying value"];

/// Writes the warnings of a file, where they differ from what is there. One about a DAG that was not stored has
/// nothing to hang on.
pub(super) async fn write(tx: &mut Tx, job: &Job<'_>, dag_ids: &[String]) -> Result<(), Error> {
    let dialect = tx.dialect();
    let mut found: BTreeMap<(&str, &str), Cow<'_, str>> = BTreeMap::new();
    for warning in job.file.parsed.warnings.iter().filter(|warning| dag_ids.contains(&warning.dag_id)) {
        found
            .entry((&warning.dag_id, &warning.warning_type))
            .or_insert_with(|| fitting(dialect, &warning.message));
    }
    let stored = dag::warning::of_dags(tx, dag_ids).await?;
    for warning in &stored {
        match found.remove(&(warning.dag_id.as_str(), warning.warning_type.as_str())) {
            Some(message) if message != warning.message => {
                dag::warning::update(tx, &DagWarning { message: message.into_owned(), ..warning.clone() })
                    .await?;
            }
            None if FOUND_BY_PARSING.contains(&warning.warning_type.as_str()) => {
                dag::warning::delete(tx, &warning.dag_id, &warning.warning_type).await?;
            }
            _ => {}
        }
    }
    for ((dag_id, warning_type), message) in found {
        let warning = DagWarning {
            dag_id: dag_id.to_owned(),
            warning_type: warning_type.to_owned(),
            message: message.into_owned(),
        };
        dag::warning::insert(tx, &warning, job.now).await?;
    }
    Ok(())
}
