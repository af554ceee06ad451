//! Keeps secrets out of what is logged.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};

use aho_corasick::{AhoCorasick, MatchKind};
use ferroflow_config::Settings;
use serde_json::Value;

/// Names whose values are secrets, besides those of `[core] sensitive_var_conn_names`.
const SENSITIVE_NAMES: [&str; 22] = [
    "access_key",
    "access_token",
    "api_key",
    "apikey",
    "auth_header",
    "authorization",
    "bearer",
    "connection_string",
    "dsn",
    "keyfile_dict",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "proxies",
    "proxy",
    "proxy_password",
    "secret",
    "service_account",
    "service_key",
    "token",
    "webhook_url",
];

/// What stands in the place of a secret.
const MASK: &str = "***";

/// A word that is in too many texts to be masked, whoever uses it as a password.
const NEVER_MASKED: &str = "airflow";

/// What is a secret.
#[derive(Clone, Debug)]
pub struct MaskRules {
    /// `[core] sensitive_var_conn_names`.
    pub names: Vec<String>,
    /// `[core] hide_sensitive_var_conn_fields`: whether names tell.
    pub by_name: bool,
    /// `[logging] min_length_masked_secret`: what is shorter is in too many texts.
    pub min_length: usize,
}

impl MaskRules {
    /// As the configuration says.
    pub fn of(settings: &Settings) -> Self {
        Self {
            names: settings.core.sensitive_var_conn_names.clone(),
            by_name: settings.core.hide_sensitive_var_conn_fields,
            min_length: usize::try_from(settings.logging.min_length_masked_secret).unwrap_or(usize::MAX),
        }
    }
}

impl Default for MaskRules {
    fn default() -> Self {
        Self { names: Vec::new(), by_name: true, min_length: 5 }
    }
}

/// The secrets that are known, and texts without them.
#[derive(Debug)]
pub struct Masker {
    rules: MaskRules,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    secrets: BTreeSet<String>,
    finder: Option<AhoCorasick>,
}

impl Masker {
    /// One that knows no secret yet.
    pub fn new(rules: MaskRules) -> Self {
        Self { rules, known: RwLock::default() }
    }

    /// Takes up a secret, or those in a list or a dict. What has a name is one only if the name says so; in a
    /// dict the keys are the names.
    pub fn add(&self, value: &Value, name: Option<&str>) {
        let mut found = Vec::new();
        self.collect(value, name, &mut found);
        if found.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = known.secrets.len();
        known.secrets.extend(found);
        if known.secrets.len() > before {
            let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&known.secrets);
            match built {
                Ok(finder) => known.finder = Some(finder),
                Err(error) => tracing::error!("secrets are not masked in logs: {error}"),
            }
        }
    }

    /// The text with every known secret masked.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        match &known.finder {
            Some(finder) if finder.is_match(text) => {
                let mut masked = String::with_capacity(text.len());
                finder.replace_all_with(text, &mut masked, |_, _, masked| {
                    masked.push_str(MASK);
                    true
                });
                Cow::Owned(masked)
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// How much of a text that goes on can be masked without what follows: neither a secret nor the beginning of one is
    /// cut. Nothing if secrets are longer than the text.
    pub fn uncut(&self, text: &str) -> usize {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(finder) = &known.finder else { return text.len() };
        // Whatever begins before this comes to its end within the text.
        let longest = known.secrets.iter().map(String::len).max().unwrap_or(0);
        let end = text.floor_char_boundary((text.len() + 1).saturating_sub(longest));
        let across = finder.find_iter(text).find(|found| found.start() < end && end < found.end());
        across.map_or(end, |found| found.end())
    }

    /// The value with every known secret masked, and all that a name in it says to be secret.
    pub fn redact_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.redact(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Value::Object(entries) => {
                for (name, value) in entries {
                    if self.is_sensitive(name) { hide_all(value) } else { self.redact_json(value) }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn collect(&self, value: &Value, name: Option<&str>, found: &mut Vec<String>) {
        match value {
            Value::Object(entries) => {
                for (key, value) in entries {
                    self.collect(value, Some(key), found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, name, found)),
            Value::String(text) => {
                let is_long = text.chars().count() >= self.rules.min_length.max(1);
                let is_told = name.is_none_or(|name| name.is_empty() || self.is_sensitive(name));
                if is_long && is_told && text.to_lowercase() != NEVER_MASKED {
                    found.push(text.clone());
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Whether a name says that its value is a secret.
    fn is_sensitive(&self, name: &str) -> bool {
        if !self.rules.by_name {
            return false;
        }
        let mut normalized = String::with_capacity(name.len());
        for c in name.trim().to_lowercase().chars() {
            if c.is_alphanumeric() || c == '_' {
                normalized.push(c);
            } else if !normalized.ends_with('\0') {
                normalized.push('\0');
            }
        }
        let normalized = normalized.replace('\0', "_");
        let configured = self.rules.names.iter().map(String::as_str);
        SENSITIVE_NAMES.into_iter().chain(configured).any(|sensitive| normalized.contains(sensitive))
    }
}

/// Masks every text, whatever it is.
fn hide_all(value: &mut Value) {
    match value {
        Value::String(text) => MASK.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(hide_all),
        Value::Object(entries) => entries.values_mut().for_each(hide_all),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn masker() -> Masker {
        Masker::new(MaskRules { names: vec!["pin".to_owned()], ..MaskRules::default() })
    }

    #[test_case("s3cret", None => "a *** b *** c"; "no name")]
    #[test_case("s3cret", Some("my Api-Key") => "a *** b *** c"; "a name that says so")]
    #[test_case("s3cret", Some("PIN code") => "a *** b *** c"; "a name of the configuration")]
    #[test_case("s3cret", Some("colour") => "a s3cret b s3cret c"; "another name")]
    #[test_case("s3cr", None => "a s3cret b s3cret c"; "too short")]
    fn values_are_masked(value: &str, name: Option<&str>) -> String {
        let masker = masker();
        masker.add(&value.into(), name);
        masker.redact("a s3cret b s3cret c").into_owned()
    }

    #[test]
    fn lists_and_dicts_are_walked_and_the_longest_secret_wins() {
        let masker = masker();
        let inner = serde_json::json!({"password": ["abcde", "abcdefgh"], "host": "plain-host"});
        masker.add(&serde_json::json!({"x": inner}), None);
        masker.add(&"Airflow".into(), None);
        assert_eq!(masker.redact("abcdefghi abcdei plain-host Airflow"), "***i ***i plain-host Airflow");
    }

    #[test]
    fn a_text_is_not_cut_within_a_secret() {
        let masker = Masker::new(MaskRules::default());
        assert_eq!(masker.uncut("all of it"), 9);
        masker.add(&"secret-word".into(), None);
        masker.add(&"word-and-more".into(), None);
        let text = "öö secret-word-and-more öö a secret-word, the end is a secret-wo";
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let cut = masker.uncut(&text[..end]);
            assert!(cut <= end);
            let pieces = format!("{}{}", masker.redact(&text[..cut]), masker.redact(&text[cut..]));
            assert_eq!(pieces, masker.redact(text), "{end} {cut}");
        }
        assert_eq!(masker.uncut("short"), 0);
    }

    #[test]
    fn a_record_is_masked_by_what_is_known_and_by_its_names() {
        let masker = masker();
        masker.add(&"abcde".into(), None);
        let mut record = serde_json::json!({
            "event": "abcde!", "n": 5, "deep": [{"Api_Key": ["x", 1, {"y": "z"}], "plain": "w abcde"}],
        });
        masker.redact_json(&mut record);
        let expected = serde_json::json!({
            "event": "***!", "n": 5, "deep": [{"Api_Key": ["***", 1, {"y": "***"}], "plain": "w ***"}],
        });
        assert_eq!(record, expected);
    }
}
