//! Files with variables or connections in them.

mod yaml;

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use serde_json::{Map, Value};

use crate::output::note;

/// What a file has, by name: an object of JSON or YAML, or a line `KEY=value` for each.
pub(crate) fn read(path: &Path) -> Result<Map<String, Value>> {
    let extension = path.extension().map(|text| text.to_string_lossy().to_lowercase()).unwrap_or_default();
    let shown = path.display();
    if !matches!(extension.as_str(), "env" | "json" | "yaml" | "yml") {
        bail!(
            "Unsupported file format. The file must have one of the following extensions: .env .json .yaml .yml; \
             {shown} has not"
        );
    }
    let text = fs_err::read_to_string(path).map_err(|error| anyhow!("{shown} cannot be read: {error}"))?;
    match extension.as_str() {
        "env" => lines(&text).with_context(|| shown.to_string()),
        "json" => serde_json::from_str(&text).with_context(|| format!("{shown} has no JSON object in it")),
        _ => match yaml::parse(&text).with_context(|| shown.to_string())? {
            Value::Object(found) => Ok(found),
            _ => bail!("{shown} has no map in it"),
        },
    }
}

/// Writes a file that is for nobody else to read.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    Ok(create(path)?.write_all(text.as_bytes())?)
}

/// An empty file that is for nobody else to read, also if it was there and others could.
pub(crate) fn create(path: &Path) -> Result<fs_err::File> {
    let mut options = fs_err::OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
    let metadata = file.metadata()?;
    // A pipe or a terminal stays what it is.
    if metadata.is_file() {
        if metadata.permissions().mode() & 0o077 != 0
            && let Err(error) = file.set_permissions(Permissions::from_mode(0o600))
        {
            // Some file systems have no modes, and a file may be another user's.
            note(&format!("others may be able to read it: {error}"))?;
        }
        file.set_len(0)?;
    }
    Ok(file)
}

fn lines(text: &str) -> Result<Map<String, Value>> {
    let mut found = Map::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let number = number + 1;
        let (key, value) =
            line.split_once('=').with_context(|| format!("line {number} has no equal sign (=)"))?;
        if key.is_empty() || value.is_empty() {
            bail!("line {number} has nothing on one side of its equal sign (=)");
        }
        if found.insert(key.to_owned(), Value::from(value)).is_some() {
            bail!("there are several values for {key}");
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_names_and_values() {
        let found = lines("# comment\n\na=1\nb=x=y\n").unwrap();
        assert_eq!(Value::Object(found).to_string(), r#"{"a":"1","b":"x=y"}"#);
        for (text, told) in
            [("a", "line 1 has no equal"), ("a=1\n=2", "line 2"), ("a=1\na=2", "several values for a")]
        {
            assert!(lines(text).unwrap_err().to_string().contains(told), "{text}");
        }
    }
}
