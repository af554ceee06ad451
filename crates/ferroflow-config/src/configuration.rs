//! Finding an option's value, in Airflow's order.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::command;
use crate::environment::Environment;
use crate::error::Error;
use crate::facts::{FACTS, Name, Names};
use crate::ini::{Entry, Ini};
use crate::interpolation::interpolate;
use crate::rule::{self, Flag};
use crate::suggest;
use crate::value::{Place, Source, Value};
use crate::warning::{self, Warning};

/// The configuration of one process: its environment, its file and the defaults.
#[derive(Clone)]
pub struct Configuration {
    pub(crate) environment: Environment,
    airflow_home: String,
    path: PathBuf,
    pub(crate) file: Ini,
    warnings: Vec<Warning>,
}

impl Configuration {
    /// Reads `airflow.cfg`, if there is one. Runs no commands: those run when their option is asked for.
    pub fn load(environment: &Environment) -> Result<Self, Error> {
        let path = environment.airflow_config()?;
        let mut configuration = Self {
            airflow_home: environment.airflow_home()?,
            file: read_file(&path)?,
            path,
            environment: environment.clone(),
            warnings: Vec::new(),
        };
        configuration.warnings = warning::collect(&configuration);
        Ok(configuration)
    }

    /// What the user should change although it works: former names, replaced values, options without effect.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Airflow's home directory.
    pub fn airflow_home(&self) -> &str {
        &self.airflow_home
    }

    /// Path of the configuration file, whether it exists or not.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that `AIRFLOW_CONFIG` names, if it is not there.
    pub(crate) fn missing_file(&self) -> Option<&Path> {
        (self.environment.is_set("AIRFLOW_CONFIG") && !self.path.exists()).then_some(&self.path)
    }

    /// An option's value; `None` if it is not configured and has no default.
    ///
    /// Names may be in any case. A former name gives the value of the option it became.
    pub fn get(&self, section: &str, key: &str) -> Result<Option<Value>, Error> {
        let names = FACTS.names(section, key);
        let Some(found) = self.look_up(&names, Form::Final)? else {
            return Ok(None);
        };
        let (text, replaced) = match FACTS.upgraded(&names.today, &found.text) {
            Some(text) => (text, Some(found.text)),
            None => (found.text, None),
        };
        let sensitive = FACTS.is_sensitive(&names.today.section, &names.today.key);
        Ok(Some(Value { text, replaced, source: found.source, sensitive }))
    }

    /// What an option is unless it is set.
    pub fn default_value(&self, section: &str, key: &str) -> Option<String> {
        self.default_text(&FACTS.names(section, key).today)
    }

    /// An option's value; an error that helps if there is none.
    pub fn require(&self, section: &str, key: &str) -> Result<Value, Error> {
        match self.get(section, key)? {
            Some(value) => Ok(value),
            None => Err(suggest::explain_absence(self, section, key)),
        }
    }

    /// An option that is true or false, read by itself: for what obeys few options and works although others are
    /// wrong. Everything else takes them from [`Settings`](crate::Settings).
    pub fn flag(&self, section: &str, key: &str) -> Result<bool, Error> {
        rule::read(self, section, key, &Flag)
    }

    /// The name of today for a former name of an option.
    pub fn renamed(&self, section: &str, key: &str) -> Option<(String, String)> {
        let rename = FACTS.renamed_from(&section.to_lowercase(), &key.to_lowercase())?;
        let Name { section, key } = rename.today();
        Some((section, key))
    }

    /// All sections: those that are known, then others of the file.
    pub fn sections(&self) -> Vec<&str> {
        let known = FACTS.sections.keys().map(String::as_str);
        let unknown = self.file.sections().filter(|section| !FACTS.sections.contains_key(*section));
        known.chain(unknown).collect()
    }

    /// All options of a section: those that are known, then others of the file.
    pub fn options(&self, section: &str) -> Vec<&str> {
        let known = FACTS.sections.get(section);
        let of_file = self.file.options(section);
        let unknown = of_file.into_iter().filter(|key| known.is_none_or(|known| !known.contains_key(*key)));
        known.into_iter().flat_map(|known| known.keys().map(String::as_str)).chain(unknown).collect()
    }

    /// Airflow's order: environment, file, command of the file, secret of the file, default; in each the name of
    /// today before the former one.
    pub(crate) fn look_up(&self, names: &Names, form: Form) -> Result<Option<Found>, Error> {
        for step in [Self::variable_value, Self::file_value, Self::file_command, Self::file_secret] {
            for name in names.iter() {
                if let Some(found) = step(self, name, form)? {
                    return Ok(Some(found));
                }
            }
        }
        self.default(&names.today, form)
    }

    /// The default's text, `{AIRFLOW_HOME}` replaced. `{SECRET_KEY}` and its like are empty: nothing was generated.
    pub(crate) fn default_text(&self, name: &Name) -> Option<String> {
        let default = FACTS.option(&name.section, &name.key)?.default.as_deref()?;
        Some(match default {
            "{SECRET_KEY}" => String::new(),
            template => template.replace("{AIRFLOW_HOME}", &self.airflow_home),
        })
    }

    /// The entry of the file under exactly this name.
    pub(crate) fn entry(&self, section: &str, key: &str) -> Option<(&Entry, Place)> {
        let entry = self.file.get(section, key)?;
        let place = Place {
            path: self.path.clone(),
            line: entry.line,
            section: section.to_owned(),
            key: key.to_owned(),
        };
        Some((entry, place))
    }

    fn variable_value(&self, name: &Name, _form: Form) -> Result<Option<Found>, Error> {
        let variable = name.variable();
        if let Some(text) = self.environment.text(&variable)? {
            let text = self.environment.expand(text, &variable)?;
            return Ok(Some(Found { text, source: Source::Variable(variable) }));
        }
        if !FACTS.is_sensitive(&name.section, &name.key) {
            return Ok(None);
        }
        let command_variable = format!("{variable}_CMD");
        if let Some(command) = self.environment.text(&command_variable)? {
            let text = self.run(command, &command_variable)?;
            return Ok(Some(Found { text, source: Source::VariableCommand(command_variable) }));
        }
        let secret_variable = format!("{variable}_SECRET");
        match self.environment.text(&secret_variable)? {
            Some(_) => self.refuse_secret(secret_variable, name),
            None => Ok(None),
        }
    }

    fn file_value(&self, name: &Name, form: Form) -> Result<Option<Found>, Error> {
        let Some((entry, place)) = self.entry(&name.section, &name.key) else {
            return Ok(None);
        };
        let text = match form {
            Form::Final => self.interpolated(entry, &place)?,
            Form::Raw => entry.text.clone(),
        };
        let text = self.environment.expand(&text, &place.to_string())?;
        Ok(Some(Found { text, source: Source::File(place) }))
    }

    fn file_command(&self, name: &Name, _form: Form) -> Result<Option<Found>, Error> {
        let Some((entry, place)) = self.sensitive_entry(name, "_cmd") else {
            return Ok(None);
        };
        let text = self.run(&self.interpolated(entry, &place)?, &place.to_string())?;
        // Unlike in the environment, a command of the file that prints nothing has no say.
        Ok((!text.is_empty()).then_some(Found { text, source: Source::FileCommand(place) }))
    }

    fn file_secret(&self, name: &Name, _form: Form) -> Result<Option<Found>, Error> {
        match self.sensitive_entry(name, "_secret") {
            Some((_, place)) => self.refuse_secret(place.to_string(), name),
            None => Ok(None),
        }
    }

    fn default(&self, name: &Name, form: Form) -> Result<Option<Found>, Error> {
        let Some(text) = self.default_text(name) else {
            return Ok(None);
        };
        let text = match form {
            Form::Final => text,
            Form::Raw => text.replace('%', "%%"),
        };
        let source = Source::Default { section: name.section.clone(), key: name.key.clone() };
        let text = self.environment.expand(&text, &source.to_string())?;
        Ok(Some(Found { text, source }))
    }

    fn sensitive_entry(&self, name: &Name, suffix: &str) -> Option<(&Entry, Place)> {
        if !FACTS.is_sensitive(&name.section, &name.key) {
            return None;
        }
        self.entry(&name.section, &format!("{}{suffix}", name.key))
    }

    fn interpolated(&self, entry: &Entry, place: &Place) -> Result<String, Error> {
        let lookup = |key: &str| self.file.get(&place.section, key).map(|entry| entry.text.as_str());
        interpolate(&entry.text, &lookup)
            .map_err(|problem| Error::Interpolation { place: place.clone(), problem })
    }

    fn run(&self, command: &str, place: &str) -> Result<String, Error> {
        command::run(command, &self.environment).map_err(|problem| Error::Command {
            source_of_value: place.to_owned(),
            command: command.to_owned(),
            problem,
        })
    }

    /// Without a secrets backend Airflow ignores the option, and so do we; with one the value would be wrong.
    fn refuse_secret(&self, place: String, name: &Name) -> Result<Option<Found>, Error> {
        match self.get("secrets", "backend")? {
            Some(backend) if !backend.text.is_empty() => Err(Error::SecretsBackend {
                place,
                backend: backend.text,
                section: name.section.clone(),
                key: name.key.clone(),
            }),
            _ => Ok(None),
        }
    }
}

/// The values are left out: they may be secrets.
impl fmt::Debug for Configuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Configuration")
            .field("path", &self.path)
            .field("airflow_home", &self.airflow_home)
            .finish_non_exhaustive()
    }
}

/// How a value is wanted: as programs read it, or as it would be written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Final,
    Raw,
}

/// A value and where it was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) text: String,
    pub(crate) source: Source,
}

fn read_file(path: &Path) -> Result<Ini, Error> {
    if path.is_dir() {
        return Err(Error::IsDirectory { path: path.to_owned() });
    }
    let bytes = match fs_err::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Ini::default()),
        Err(error) => return Err(Error::Unreadable(error)),
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).matches('\n').count() + 1;
        Error::NotUtf8 { path: path.to_owned(), line }
    })?;
    Ini::parse(text).map_err(|problems| Error::Syntax { path: path.to_owned(), problems })
}
