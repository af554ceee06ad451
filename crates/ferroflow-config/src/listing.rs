//! `config list`: all options in the form of a configuration file, as Airflow prints them.

use std::fmt::Write as _;

use crate::configuration::{Configuration, Form};
use crate::error::Error;
use crate::facts::{FACTS, Layer, Name};
use crate::python_json;
use crate::suggest;

/// What to list, and what to say of each option.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Listing {
    /// Only this section.
    pub section: Option<String>,
    /// Defaults in place of what is configured, everything commented out, with environment variables.
    pub defaults: bool,
    /// Values; without it only names.
    pub show_values: bool,
    /// Where each value comes from.
    pub include_sources: bool,
    /// The environment variable of each option.
    pub include_env_vars: bool,
    /// `< hidden >` in place of sensitive values.
    pub hide_sensitive: bool,
    /// A `#` before every option.
    pub comment_out_everything: bool,
}

impl Listing {
    /// The listing's text.
    pub fn render(&self, configuration: &Configuration) -> Result<String, Error> {
        let mut text = String::new();
        let mut sections = configuration.sections();
        if let Some(only) = &self.section {
            sections.retain(|section| section == only);
            if sections.is_empty() {
                return Err(suggest::unknown_section(configuration, only));
            }
        }
        for section in sections {
            push_line(&mut text, format_args!("[{section}]"));
            for option in configuration.options(section) {
                let separated = self.header(&mut text, configuration, section, option);
                let value = self.value(configuration, section, option)?;
                self.option(&mut text, option, value);
                if separated {
                    text.push('\n');
                }
            }
        }
        Ok(text)
    }

    /// The comments above an option. Says whether there are any.
    fn header(&self, text: &mut String, configuration: &Configuration, section: &str, option: &str) -> bool {
        let sources = self.include_sources && !self.defaults;
        let variables = self.include_env_vars || self.defaults;
        if sources {
            let source = source(configuration, &Name::new(section, option)).unwrap_or("not defined");
            push_line(text, format_args!("#\n# Source: {source}"));
        }
        if variables {
            // As Airflow prints it: unlike in the variable itself, a dot in the section's name stays.
            let (section, option) = (section.to_uppercase(), option.to_uppercase());
            push_line(text, format_args!("#\n# Variable: AIRFLOW__{section}__{option}\n#"));
        }
        sources || variables
    }

    fn value(
        &self,
        configuration: &Configuration,
        section: &str,
        option: &str,
    ) -> Result<Option<String>, Error> {
        if !self.show_values {
            return Ok(None);
        }
        if self.hide_sensitive && FACTS.is_sensitive_for_a_team(section, option) {
            return Ok(Some("< hidden >".to_owned()));
        }
        if self.defaults {
            let default = configuration.default_text(&Name::new(section, option));
            return Ok(default.map(|default| default.replace('%', "%%")));
        }
        let names = FACTS.names(section, option);
        if let Some(upgraded) = upgraded(configuration, &names.today) {
            return Ok(Some(upgraded));
        }
        Ok(configuration.look_up(&names, Form::Raw)?.map(|found| found.text))
    }

    fn option(&self, text: &mut String, option: &str, value: Option<String>) {
        match value {
            None => push_line(text, format_args!("# {option} = ")),
            Some(value) if self.comment_out_everything || self.defaults => {
                push_line(text, format_args!("# {option} = {}", split_lines(&value).join("\n# ")));
            }
            Some(value) => {
                let json = value.contains('\n').then(|| python_json::indented(&value)).flatten();
                // Lines that are set in continue the option's value.
                let value = json.map_or(value, |json| json.replace('\n', "\n    "));
                push_line(text, format_args!("{option} = {value}"));
            }
        }
    }
}

fn push_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

/// The value that stands for one that is no longer valid.
fn upgraded(configuration: &Configuration, name: &Name) -> Option<String> {
    if !FACTS.upgradable().any(|upgradable| upgradable == *name) {
        return None;
    }
    let found = configuration.look_up(&FACTS.names(&name.section, &name.key), Form::Final).ok()??;
    FACTS.upgraded(name, &found.text)
}

/// Airflow's word for the source of an option's value.
///
/// Its rules here are not those of the look-up: a command counts more than a variable, and a default does not
/// count if the option is configured under its former name.
fn source(configuration: &Configuration, name: &Name) -> Option<&'static str> {
    let configured = |key: &str| {
        let variable = format!("AIRFLOW__{}__{}", name.section.to_uppercase(), key.to_uppercase());
        // Airflow takes section and key from the variable's name, in lower case and with no dot in them.
        let is_named = name.section.to_lowercase() == name.section
            && key.to_lowercase() == key
            && !name.section.contains('.');
        let in_variables = is_named && configuration.environment.is_set(&variable);
        let in_file = configuration.file.get(&name.section, key).is_some();
        (in_variables, in_file)
    };
    // A command that has been run no longer counts as an option.
    if name.key.strip_suffix("_cmd").is_some_and(|key| FACTS.is_sensitive(&name.section, key)) {
        return None;
    }
    let sensitive = FACTS.is_sensitive(&name.section, &name.key);
    if sensitive && matches!(configured(&format!("{}_cmd", name.key)), (true, _) | (_, true)) {
        return Some("cmd");
    }
    match configured(&name.key) {
        (true, _) => return Some("env var"),
        _ if upgraded(configuration, name).is_some() => return Some("env var"),
        (_, true) => return Some("airflow.cfg"),
        _ => {}
    }
    let facts = FACTS.option(&name.section, &name.key).filter(|facts| facts.default.is_some())?;
    match facts.layer {
        Layer::Core if former_name_is_configured(configuration, name) => None,
        Layer::Core | Layer::Ferroflow => Some("default"),
        Layer::Provider => Some("provider-metadata-fallback-defaults"),
        Layer::Fallback => Some("provider-cfg-fallback-defaults"),
    }
}

fn former_name_is_configured(configuration: &Configuration, name: &Name) -> bool {
    let rename = FACTS.renamed.iter().find(|rename| rename.today() == *name);
    rename.is_some_and(|rename| {
        let former = rename.former();
        ["", "_cmd", "_secret"].iter().any(|suffix| {
            let key = format!("{}{suffix}", former.key);
            let variable = Name::new(&former.section, &key).variable();
            configuration.environment.is_set(&variable)
                || configuration.file.get(&former.section, &key).is_some()
        })
    })
}

/// Splits like Python's `str.splitlines`, which knows more ends of lines than `\n`.
fn split_lines(text: &str) -> Vec<&str> {
    const ENDS: [char; 10] =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.find(ENDS).unwrap_or(rest.len()));
        lines.push(line);
        let after_crlf = after.strip_prefix("\r\n");
        rest = after_crlf.or_else(|| after.strip_prefix(ENDS)).unwrap_or_default();
    }
    lines
}
