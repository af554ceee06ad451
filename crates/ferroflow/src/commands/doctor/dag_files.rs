//! DAG files that cannot be imported: as the database says, and as they are now.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use ferroflow_operations::{Operations, import_error};

use super::finding::{Finding, Topic, last_line};
use crate::commands::dags::parsing::{self, LocalFile, with_parser};
use crate::commands::operations;
use crate::output::{AnswerFormat, Format};
use crate::session::Session;

const ADVICE: &str = "`ferroflow dags list-import-errors` shows the whole error";

/// What the last DAG processor noted.
pub(super) async fn stored(operations: &Operations) -> Result<Topic> {
    let errors = import_error::list(operations).await?;
    let mut findings: Vec<Finding> = errors
        .iter()
        .map(|error| {
            let (bundle, file) = (error.bundle_name.as_deref(), error.filename.as_deref());
            let text =
                format!("it cannot be imported: {}", last_line(error.stacktrace.as_deref().unwrap_or("")));
            Finding::warning(text).at(place(bundle, file)).advise(ADVICE)
        })
        .collect();
    if findings.is_empty() {
        findings.push(Finding::ok("the database knows of none that cannot be imported"));
    }
    Ok(Topic::new("DAG files, as the database knows them", findings))
}

/// What comes of parsing all of them now. An error that the database does not know is a problem: with the official DAG
/// processor these DAGs are there.
pub(super) fn parsed(session: &Session, format: AnswerFormat) -> Result<Topic> {
    let progress = if format == AnswerFormat::Json { Format::Json } else { Format::Table };
    let (files, known) = with_parser(session, async |cx| {
        let files: Vec<LocalFile<()>> = parsing::parse_each(cx, &[], progress).await?;
        let operations = operations::open(session).await?;
        let known = import_error::list(&operations).await?;
        operations.close().await;
        Ok((files, known))
    })?;
    let known: BTreeSet<String> =
        known.iter().map(|error| place(error.bundle_name.as_deref(), error.filename.as_deref())).collect();
    let dags: usize = files.iter().map(|file| file.dags.len()).sum();
    let mut findings = vec![Finding::ok(format!("{} files were parsed, with {dags} DAGs", files.len()))];
    for file in &files {
        for (place, stacktrace) in errors(file) {
            let text = format!("it cannot be imported: {}", last_line(stacktrace));
            findings.push(if known.contains(&place) {
                Finding::warning(text).at(place).advise("nor can the official DAG processor")
            } else {
                Finding::problem(text).at(place).advise(
                    "the database knows of no such error: mend the file if it has just been changed, or keep the \
                     official DAG processor and tell us",
                )
            });
        }
    }
    findings.extend(duplicates(&files));
    let parsed: BTreeSet<String> = files.iter().flat_map(errors).map(|(place, _)| place).collect();
    findings.extend(known.difference(&parsed).map(|place| {
        Finding::note("the database knows of an import error, and there is none any more").at(place.clone())
    }));
    Ok(Topic::new("DAG files, parsed now", findings))
}

/// The errors of a file, each with its place.
fn errors(file: &LocalFile<()>) -> impl Iterator<Item = (String, &str)> {
    let place = |error: &str| place(Some(&file.bundle_name), Some(error));
    file.errors.iter().map(move |error| (place(&error.filename), error.stacktrace.as_str()))
}

/// DAGs that are in several files: no DAG processor refuses any of them.
fn duplicates(files: &[LocalFile<()>]) -> Vec<Finding> {
    let mut places: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        for dag in &file.dags {
            let place = place(Some(&file.bundle_name), Some(&file.relative_path));
            places.entry(&dag.dag_id).or_default().insert(place);
        }
    }
    let several = places.into_iter().filter(|(_, places)| places.len() > 1);
    let note = |(dag_id, places): (&str, BTreeSet<String>)| {
        let places = places.into_iter().collect::<Vec<_>>().join(", ");
        Finding::note(format!("DAG {dag_id} is in {places}: whichever is parsed last counts"))
            .advise("give each DAG a dag_id of its own")
    };
    several.map(note).collect()
}

fn place(bundle: Option<&str>, file: Option<&str>) -> String {
    format!("{} of bundle {}", file.unwrap_or("a file"), bundle.unwrap_or("(none)"))
}
