//! What works but should be changed.

use std::fmt;
use std::path::PathBuf;

use crate::configuration::{Configuration, Form};
use crate::facts::{FACTS, Name, Rename};

/// Something in the configuration that still works but should be changed; prints as one line for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// An option is configured under a former name.
    FormerName {
        /// Where it is configured.
        place: String,
        /// The name of today, as `[section] key`.
        today: String,
        /// The release that renamed it.
        since: String,
    },
    /// A value is replaced by its successor.
    ReplacedValue {
        /// Where it is configured.
        place: String,
        /// What is used, if it may be shown.
        replacement: String,
    },
    /// `AIRFLOW_CONFIG` names a file that is not there.
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// An option is configured but has no effect.
    NoEffect {
        /// Where it is configured.
        place: String,
        /// Why.
        reason: &'static str,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FormerName { place, today, since } => {
                write!(formatter, "{place} is a former name: since {since} it is {today}")
            }
            Self::ReplacedValue { place, replacement } => {
                write!(
                    formatter,
                    "{place} has a value that is no longer valid; {replacement} is used in its place"
                )
            }
            Self::NoFile { path } => {
                let path = path.display();
                write!(formatter, "AIRFLOW_CONFIG names {path}, which does not exist: defaults are in effect")
            }
            Self::NoEffect { place, reason } => write!(formatter, "{place} has no effect: {reason}"),
        }
    }
}

/// Everything to warn about, without running a command.
pub(crate) fn collect(configuration: &Configuration) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some(path) = configuration.missing_file() {
        warnings.push(Warning::NoFile { path: path.to_owned() });
    }
    warnings.extend(FACTS.renamed.iter().filter_map(|rename| former_name(configuration, rename)));
    warnings.extend(replaced_values(configuration));
    warnings.extend(no_effect(configuration));
    warnings
}

/// A former name counts only where Airflow would use it: not if the name of today is found first.
fn former_name(configuration: &Configuration, rename: &Rename) -> Option<Warning> {
    let (today, former) = (rename.today(), rename.former());
    let suffixes: &[&str] =
        if FACTS.is_sensitive(&today.section, &today.key) { &["", "_cmd", "_secret"] } else { &[""] };
    let in_variables = |name: &Name| {
        suffixes.iter().find_map(|suffix| {
            let variable = format!("{}{}", name.variable(), suffix.to_uppercase());
            configuration.environment.var(&variable).map(|_| variable)
        })
    };
    let in_file = |name: &Name, suffix: &str| {
        let (_, place) = configuration.entry(&name.section, &format!("{}{suffix}", name.key))?;
        Some(place.to_string())
    };
    let place = if in_variables(&today).is_some() {
        None
    } else if let Some(variable) = in_variables(&former) {
        Some(variable)
    } else {
        suffixes
            .iter()
            .take_while(|suffix| in_file(&today, suffix).is_none())
            .find_map(|suffix| in_file(&former, suffix))
    };
    Some(Warning::FormerName {
        place: place?,
        today: format!("[{}] {}", today.section, today.key),
        since: rename.since().to_owned(),
    })
}

fn replaced_values(configuration: &Configuration) -> impl Iterator<Item = Warning> {
    FACTS.upgradable().filter_map(|name| {
        if comes_from_command(configuration, &name) {
            return None;
        }
        let names = FACTS.names(&name.section, &name.key);
        let found = configuration.look_up(&names, Form::Final).ok()??;
        let replacement = FACTS.upgraded(&name, &found.text)?;
        let replacement = if FACTS.is_sensitive(&name.section, &name.key) {
            "the scheme postgresql://".to_owned()
        } else {
            format!("{replacement:?}")
        };
        Some(Warning::ReplacedValue { place: found.source.to_string(), replacement })
    })
}

/// Commands run when their option is asked for; a warning is no reason to run one.
fn comes_from_command(configuration: &Configuration, name: &Name) -> bool {
    FACTS.names(&name.section, &name.key).iter().any(|name| {
        configuration.environment.var(&format!("{}_CMD", name.variable())).is_some()
            || configuration.entry(&name.section, &format!("{}_cmd", name.key)).is_some()
    })
}

fn no_effect(configuration: &Configuration) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |place: String, reason| warnings.push(Warning::NoEffect { place, reason });
    if let Ok(Some(value)) = configuration.get("core", "airflow_home") {
        warn(value.source.to_string(), "only the environment variable AIRFLOW_HOME is obeyed");
    }
    let backend = configuration.get("secrets", "backend").ok().flatten();
    let has_backend = backend.is_some_and(|backend| !backend.text.is_empty());
    for name in
        FACTS.sections.iter().flat_map(|(section, keys)| keys.keys().map(|key| Name::new(section, key)))
    {
        let sensitive = FACTS.is_sensitive(&name.section, &name.key);
        if !sensitive && let Some(place) = configured(configuration, &name, "_cmd") {
            warn(place, "only sensitive options can come from a command");
        }
        if sensitive
            && !has_backend
            && let Some(place) = configured(configuration, &name, "_secret")
        {
            warn(place, "[secrets] backend is not set");
        }
    }
    warnings
}

/// Where the option with the suffix is configured, unless that is an option of its own.
fn configured(configuration: &Configuration, name: &Name, suffix: &str) -> Option<String> {
    let suffixed = Name::new(&name.section, &format!("{}{suffix}", name.key));
    if FACTS.option(&suffixed.section, &suffixed.key).is_some() {
        return None;
    }
    let variable = suffixed.variable();
    if configuration.environment.var(&variable).is_some() {
        return Some(variable);
    }
    configuration.entry(&suffixed.section, &suffixed.key).map(|(_, place)| place.to_string())
}
