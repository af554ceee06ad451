//! Files with variables or connections in them.

mod yaml;

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use serde_json::{Map, Value};

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

/// Writes a file. A new one is for nobody else to read.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let mut options = fs_err::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
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
