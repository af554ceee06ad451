//! Secrets on a command line, which the audit log must not have.

use serde_json::Value;

const MASK: &str = "********";

/// Options whose value is a secret.
const SECRET_OPTIONS: [&str; 2] = ["--conn-password", "--conn-extra"];

/// The command line without the secrets in it: values of variables, and passwords of connections wherever they stand.
pub(super) fn without_secrets(mut words: Vec<String>) -> Vec<String> {
    match (words.get(1).map(String::as_str), words.get(2).map(String::as_str)) {
        (Some("variables"), Some("set")) => mask_positional(&mut words, 3, 1),
        (Some("connections"), Some("add")) => mask_connection(&mut words),
        _ => {}
    }
    words
}

/// Masks one of the words that are neither options nor their values.
fn mask_positional(words: &mut [String], start: usize, number: usize) {
    const WITH_VALUE: [&str; 1] = ["--description"];
    let mut seen = 0;
    let mut is_value = false;
    for word in words.iter_mut().skip(start) {
        let is_option = word.starts_with('-') && word.len() > 1;
        if is_value || is_option {
            is_value = !is_value && WITH_VALUE.contains(&word.as_str());
            continue;
        }
        if seen == number {
            MASK.clone_into(word);
        }
        seen += 1;
    }
}

fn mask_connection(words: &mut [String]) {
    for at in 3..words.len() {
        let (option, inline) = match words[at].split_once('=') {
            Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
            None => (words[at].clone(), None),
        };
        let is_inline = inline.is_some();
        let Some(value) = inline.or_else(|| words.get(at + 1).cloned()) else { continue };
        let masked = match option.as_str() {
            "--conn-uri" => uri(&value),
            "--conn-json" => json(&value),
            option if SECRET_OPTIONS.contains(&option) => MASK.to_owned(),
            _ => continue,
        };
        if is_inline {
            words[at] = format!("{option}={masked}");
        } else {
            words[at + 1] = masked;
        }
    }
}

/// A URI without its password and without what follows the path, which may be a secret, too.
fn uri(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return MASK.to_owned() };
    let (address, query) = rest.split_once('?').map_or((rest, ""), |(address, _)| (address, MASK));
    let (authority, path) = address.split_once('/').map_or((address, None), |(a, p)| (a, Some(p)));
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{user}:{MASK}@{host}")
        }
        None => authority.to_owned(),
    };
    let path = path.map(|path| format!("/{path}")).unwrap_or_default();
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    format!("{scheme}://{authority}{path}{query}")
}

fn json(text: &str) -> String {
    let Ok(Value::Object(mut members)) = serde_json::from_str(text) else { return MASK.to_owned() };
    for (name, value) in &mut members {
        if matches!(name.as_str(), "password" | "conn_password" | "extra" | "conn_extra") {
            *value = MASK.into();
        }
    }
    Value::Object(members).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(line: &str) -> String {
        without_secrets(line.split(' ').map(str::to_owned).collect()).join(" ")
    }

    #[test]
    fn secrets_are_not_written_down() {
        for (line, expected) in [
            ("ferroflow dags trigger a -c x", "ferroflow dags trigger a -c x"),
            ("ferroflow variables set key value", "ferroflow variables set key ********"),
            (
                "ferroflow variables set --description text -j key value",
                "ferroflow variables set --description text -j key ********",
            ),
            ("ferroflow variables get key", "ferroflow variables get key"),
            (
                "ferroflow connections add a --conn-password x --conn-host y",
                "ferroflow connections add a --conn-password ******** --conn-host y",
            ),
            (
                "ferroflow connections add a --conn-password=x",
                "ferroflow connections add a --conn-password=********",
            ),
            (
                "ferroflow connections add a --conn-uri postgres://me:secret@host:5/db?token=x",
                "ferroflow connections add a --conn-uri postgres://me:********@host:5/db?********",
            ),
            (
                "ferroflow connections add a --conn-json={\"conn_type\":\"a\",\"password\":\"x\"}",
                "ferroflow connections add a --conn-json={\"conn_type\":\"a\",\"password\":\"********\"}",
            ),
        ] {
            assert_eq!(masked(line), expected);
        }
    }
}
