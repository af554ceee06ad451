//! A configured value and the place it came from.

use std::fmt;
use std::path::PathBuf;

/// The value of one option, as text.
#[derive(Clone, PartialEq, Eq)]
pub struct Value {
    /// What Airflow's `conf.get` gives: interpolated and with variables expanded.
    pub text: String,
    /// What is configured, if it is no longer valid and `text` stands in for it.
    pub replaced: Option<String>,
    /// Where it was found.
    pub source: Source,
    /// Whether the option is one whose value must not be shown unasked.
    pub sensitive: bool,
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.sensitive { "(hidden)" } else { &self.text };
        formatter
            .debug_struct("Value")
            .field("text", &text)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

/// Where a value was found. Prints as the user would look for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An environment variable.
    Variable(String),
    /// The output of the command in an environment variable `…_CMD`.
    VariableCommand(String),
    /// The configuration file.
    File(Place),
    /// The output of the command in the option `…_cmd` of the configuration file.
    FileCommand(Place),
    /// It is not set.
    Default {
        /// Section of the option.
        section: String,
        /// Name of the option.
        key: String,
    },
}

/// An option's place in the configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// Line on which the option starts, from 1.
    pub line: usize,
    /// Section as written in the file.
    pub section: String,
    /// Option as written in the file.
    pub key: String,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => formatter.write_str(name),
            Self::VariableCommand(name) => write!(formatter, "output of {name}"),
            Self::File(place) => place.fmt(formatter),
            Self::FileCommand(place) => write!(formatter, "output of {place}"),
            Self::Default { section, key } => write!(formatter, "default of [{section}] {key}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{} [{}] {}", self.path.display(), self.line, self.section, self.key)
    }
}
