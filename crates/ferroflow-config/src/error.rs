//! What can go wrong, told so that the reader knows which file, line or variable to change.

use std::fmt;
use std::path::PathBuf;

use crate::value::{Place, Source};

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path of the configuration file is a directory.
    #[error("{} is a directory; it has to be a file, or AIRFLOW_CONFIG has to name another path", path.display())]
    IsDirectory {
        /// The path.
        path: PathBuf,
    },
    /// The configuration file exists but cannot be read.
    #[error("cannot read the configuration; check that this user may read the file, or set AIRFLOW_CONFIG")]
    Unreadable(#[source] std::io::Error),
    /// The configuration file is not text in UTF-8.
    #[error("{}:{line}: not valid UTF-8; save the file in that encoding", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Line of the first wrong byte, from 1.
        line: usize,
    },
    /// The configuration file is not in the form `[section]`, `key = value`.
    #[error("{}", join_lines(problems.iter().map(|problem| format!("{}:{problem}", path.display()))))]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Every line that is wrong.
        problems: Vec<LineProblem>,
    },
    /// An environment variable that is asked for is not UTF-8.
    #[error("the environment variable {name} is not valid UTF-8; set it again or unset it")]
    VariableNotUtf8 {
        /// The variable.
        name: String,
    },
    /// A `%` in a value of the file means nothing.
    #[error("{place}: {problem}; write %% for a percent sign")]
    Interpolation {
        /// The option.
        place: Place,
        /// What is wrong with it.
        problem: String,
    },
    /// A value holds variables that refer to each other without end.
    #[error("{source_of_value}: its environment variables refer to themselves")]
    EndlessExpansion {
        /// The option or variable.
        source_of_value: String,
    },
    /// A command that should print a value did not.
    #[error("{source_of_value}: the command `{command}` failed: {problem}")]
    Command {
        /// The variable or option that holds the command.
        source_of_value: String,
        /// The command.
        command: String,
        /// Exit status and what it wrote to standard error, or why it did not start.
        problem: String,
    },
    /// A value lies in a secrets backend.
    #[error(
        "{place} asks for a value from the secrets backend {backend}, which ferroflow cannot consult; \
         set [{section}] {key} by an environment variable or by a command ({key}_cmd)"
    )]
    SecretsBackend {
        /// The variable or option that asks.
        place: String,
        /// The class named by `[secrets] backend`.
        backend: String,
        /// Section of the option that is wanted.
        section: String,
        /// Name of the option that is wanted.
        key: String,
    },
    /// No section of this name is known, nor in the file.
    #[error("there is no section [{section}]{}", did_you_mean(suggestions))]
    UnknownSection {
        /// The name asked for.
        section: String,
        /// The nearest known names.
        suggestions: Vec<String>,
    },
    /// The section has no option of this name.
    #[error("there is no option {key} in [{section}]{}", did_you_mean(suggestions))]
    UnknownOption {
        /// The section asked for.
        section: String,
        /// The name asked for.
        key: String,
        /// The nearest known names.
        suggestions: Vec<String>,
    },
    /// The option exists, but neither is it configured nor has it a default.
    #[error("[{section}] {key} has no value: it is not configured and has no default; set {variable}")]
    NotSet {
        /// Section of the option.
        section: String,
        /// Name of the option.
        key: String,
        /// The environment variable that would set it.
        variable: String,
    },
    /// One value is not of the kind asked for.
    #[error(transparent)]
    BadValue(#[from] Box<BadValue>),
    /// Some settings are wrong.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// One wrong line of the configuration file; prints as `line: what to do`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineProblem {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl fmt::Display for LineProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.line, self.problem)
    }
}

/// A value that is not what its option allows; prints as one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place} = {shown}: expected {expected}")]
pub struct BadValue {
    /// Where the value was found.
    pub place: Source,
    /// The value in quotes, or that it is hidden.
    pub shown: String,
    /// What is allowed.
    pub expected: String,
}

/// Everything that is wrong with the settings, one line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", join_lines(problems.iter().cloned()))]
pub struct Invalid {
    /// The lines.
    pub problems: Vec<String>,
}

fn join_lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn did_you_mean(suggestions: &[String]) -> String {
    match suggestions {
        [] => "; `config list` shows all".to_owned(),
        names => format!("; did you mean {}?", names.join(" or ")),
    }
}
