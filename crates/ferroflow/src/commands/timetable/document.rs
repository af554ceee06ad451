//! A serialized timetable in a file.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ferroflow_model::document::{Problem, Problems};
use ferroflow_model::timetable::Timetable;
use serde_json::value::RawValue;

use crate::output::on_one_line;

/// Reads a timetable, or that of a serialized DAG, from a file or, for `-`, from standard input.
pub(super) fn read(path: &Path) -> Result<Timetable> {
    let text = if is_standard_input(path) {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text).with_context(|| name(path))?;
        text
    } else {
        fs_err::read_to_string(path)?
    };
    let (place, timetable) = find(&text, &[]).with_context(|| name(path))?;
    match Timetable::decode(timetable) {
        Ok(timetable) => Ok(timetable),
        Err(problems) => {
            bail!("{} holds no timetable that can be read: {}", name(path), told(&place, &problems))
        }
    }
}

/// What a file is called in messages.
pub(super) fn name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() }
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// The timetable in a document, and the way to it.
fn find<'d>(text: &'d str, way: &[&str]) -> Result<(String, &'d str)> {
    let place = way.join(".");
    let fields: HashMap<String, &RawValue> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) if error.is_data() && way.is_empty() => {
            bail!("expected an object with a timetable or a DAG")
        }
        Err(error) if error.is_data() => bail!("{place}: expected an object"),
        Err(error) => return Err(error).context("cannot be read as JSON"),
    };
    if way.last() == Some(&"timetable") || fields.contains_key("__type") {
        return Ok((place, text));
    }
    let keys: &[&str] = if way.is_empty() { &["timetable", "dag"] } else { &["timetable"] };
    for key in keys {
        if let Some(value) = fields.get(*key) {
            return find(value.get(), &[way, &[key]].concat());
        }
    }
    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
    bail!(
        "{place}there is no timetable: expected an object with __type and __var, a serialized DAG, or a `dag` object"
    )
}

/// Each problem with its place in the file, in a line of its own if there are several.
fn told(place: &str, problems: &Problems) -> String {
    let mut lines: Vec<String> =
        problems.list().iter().map(|problem| on_one_line(&within(place, problem))).collect();
    if problems.more() > 0 {
        lines.push(format!("and {} more", problems.more()));
    }
    if lines.len() == 1 { lines.concat() } else { format!("\n  {}", lines.join("\n  ")) }
}

fn within(place: &str, problem: &Problem) -> String {
    let Problem { place: inner, what } = problem;
    match (place, inner.as_str()) {
        ("", inner) => format!("{inner}: {what}"),
        (place, "document") => format!("{place}: {what}"),
        (place, inner) => format!("{place}.{inner}: {what}"),
    }
}
