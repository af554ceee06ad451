//! The process's surroundings as a value, and the expansion of `$NAME` and `~` in texts.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Environment variables, home directories, current directory, and how the process was started.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    home_dir: Option<PathBuf>,
    user_homes: BTreeMap<String, String>,
    current_dir: PathBuf,
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Environment {
    /// What this process has. The only place where ferroflow reads it.
    #[expect(clippy::disallowed_methods, reason = "the one reader of the process's environment")]
    pub fn from_process() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            home_dir: std::env::home_dir(),
            user_homes: user_homes(&fs_err::read("/etc/passwd").unwrap_or_default()),
            current_dir: std::env::current_dir().unwrap_or_default(),
            program: std::env::current_exe().unwrap_or_default(),
            arguments: std::env::args_os().skip(1).collect(),
        }
    }

    /// No variables, and a directory that relative paths start from.
    pub fn empty(current_dir: impl Into<PathBuf>) -> Self {
        Self { current_dir: current_dir.into(), ..Self::default() }
    }

    /// The same with one more variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// The same with a user whose home directory `~name` stands for.
    #[must_use]
    pub fn with_user_home(mut self, name: impl Into<String>, home: impl Into<String>) -> Self {
        self.user_homes.insert(name.into(), home.into());
        self
    }

    /// A variable's value. One that is not UTF-8 counts as unset.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.variables.get(OsStr::new(name)).and_then(|value| value.to_str())
    }

    /// All variables.
    pub fn vars(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The directory that relative paths start from.
    pub fn current_dir(&self) -> &Path {
        &self.current_dir
    }

    /// The program that runs, and what it was told.
    pub fn command_line(&self) -> (&Path, &[OsString]) {
        (&self.program, &self.arguments)
    }

    /// Airflow's home: `AIRFLOW_HOME`, or `~/airflow`.
    pub fn airflow_home(&self) -> Result<String, Error> {
        self.expand(self.text("AIRFLOW_HOME")?.unwrap_or("~/airflow"), "AIRFLOW_HOME")
    }

    /// Path of the configuration file: `AIRFLOW_CONFIG`, or `airflow.cfg` in Airflow's home.
    pub fn airflow_config(&self) -> Result<PathBuf, Error> {
        let path = match self.text("AIRFLOW_CONFIG")? {
            Some(path) => PathBuf::from(self.expand(path, "AIRFLOW_CONFIG")?),
            None => Path::new(&self.airflow_home()?).join("airflow.cfg"),
        };
        Ok(self.current_dir.join(path))
    }

    /// A variable's value, for what must not fall back to something else if it is not UTF-8.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Error> {
        match self.variables.get(OsStr::new(name)).map(|value| value.to_str()) {
            Some(None) => Err(Error::VariableNotUtf8 { name: name.to_owned() }),
            value => Ok(value.flatten()),
        }
    }

    /// Whether the variable is there, whatever it holds.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.variables.contains_key(OsStr::new(name))
    }

    /// Replaces `$NAME`, `${NAME}` and a leading `~` or `~user` until nothing changes any more, as Airflow does.
    ///
    /// Names that are not set stay as they are. `place` is named in the error if there is no end to it.
    pub(crate) fn expand(&self, text: &str, place: &str) -> Result<String, Error> {
        // Airflow would loop forever on `A=$A$A`; real configurations nest two or three deep.
        const MAX_ROUNDS: usize = 20;
        let mut text = text.to_owned();
        for _ in 0..MAX_ROUNDS {
            let expanded = self.expand_home(&self.expand_variables(&text));
            if expanded == text {
                return Ok(text);
            }
            text = expanded;
        }
        Err(Error::EndlessExpansion { source_of_value: place.to_owned() })
    }

    fn expand_variables(&self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            let (before, from_dollar) = rest.split_at(dollar);
            expanded.push_str(before);
            let (reference, name) = variable_reference(from_dollar);
            match name.and_then(|name| self.var(name)) {
                Some(value) => expanded.push_str(value),
                None => expanded.push_str(reference),
            }
            rest = &from_dollar[reference.len()..];
        }
        expanded + rest
    }

    fn expand_home(&self, text: &str) -> String {
        let Some(after) = text.strip_prefix('~') else {
            return text.to_owned();
        };
        let (user, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
        let home = if user.is_empty() {
            self.var("HOME").or_else(|| self.home_dir.as_deref().and_then(Path::to_str))
        } else {
            self.user_homes.get(user).map(String::as_str)
        };
        match home {
            Some(home) => {
                let path = format!("{}{rest}", home.trim_end_matches('/'));
                if path.is_empty() { "/".to_owned() } else { path }
            }
            None => text.to_owned(),
        }
    }
}

/// The values are left out: they may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("current_dir", &self.current_dir)
            .finish_non_exhaustive()
    }
}

/// The users of a file like `/etc/passwd` and their home directories.
///
/// Python asks the C library, and that perhaps LDAP and the like. Calling it takes unsafe code, so other sources
/// than the file are not asked: a user who is not in it is unknown, and `~user` stays as it is.
fn user_homes(passwd: &[u8]) -> BTreeMap<String, String> {
    let mut homes = BTreeMap::new();
    for line in passwd.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
        let mut fields = line.split(':');
        if let (Some(name), Some(home)) = (fields.next(), fields.nth(4)) {
            homes.entry(name.to_owned()).or_insert_with(|| home.to_owned());
        }
    }
    homes
}

/// Splits off the reference at the start of `text` (which starts with `$`): the whole of it, and the name in it.
fn variable_reference(text: &str) -> (&str, Option<&str>) {
    let after = &text[1..];
    if let Some(braced) = after.strip_prefix('{') {
        return match braced.find('}') {
            Some(end) => (&text[..end + 3], Some(&braced[..end])),
            None => (&text[..1], None),
        };
    }
    let length = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
    (&text[..=length], (length > 0).then(|| &after[..length]))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("$A/x" => "1/x")]
    #[test_case("${A}x" => "1x")]
    #[test_case("$NOPE ${NOPE} ${" => "$NOPE ${NOPE} ${")]
    #[test_case("$" => "$")]
    #[test_case("$$A" => "$1")]
    #[test_case("$C" => "/home/me/1"; "nested")]
    #[test_case("~" => "/home/me")]
    #[test_case("~/x" => "/home/me/x")]
    #[test_case("~someone/x" => "/home/some/x")]
    #[test_case("~someone" => "/home/some")]
    #[test_case("~root" => "/")]
    #[test_case("~root/x" => "/x")]
    #[test_case("~$WHO/x" => "/home/some/x")]
    #[test_case("~nobody/x" => "~nobody/x"; "unknown user")]
    #[test_case("x/~" => "x/~")]
    #[test_case("ü$Aü" => "ü1ü")]
    fn expands(text: &str) -> String {
        let environment = Environment::empty("/")
            .with("HOME", "/home/me/")
            .with("A", "1")
            .with("B", "~/$A")
            .with("C", "$B")
            .with("WHO", "someone")
            .with_user_home("someone", "/home/some/")
            .with_user_home("root", "/");
        environment.expand(text, "test").unwrap()
    }

    #[test]
    fn endless_expansion_is_an_error_that_names_the_place() {
        let environment = Environment::empty("/").with("A", "$A.");
        let error = environment.expand("$A", "AIRFLOW__CORE__EXECUTOR").unwrap_err();
        assert_eq!(
            error.to_string(),
            "AIRFLOW__CORE__EXECUTOR: its environment variables refer to themselves"
        );
    }

    #[test]
    fn airflow_home_and_config_may_name_a_user() {
        let environment = Environment::empty("/now")
            .with("AIRFLOW_HOME", "~someone/airflow")
            .with_user_home("someone", "/home/some");
        assert_eq!(environment.airflow_home().unwrap(), "/home/some/airflow");
        assert_eq!(environment.airflow_config().unwrap(), Path::new("/home/some/airflow/airflow.cfg"));
        let environment = environment.with("AIRFLOW_CONFIG", "~someone/my.cfg");
        assert_eq!(environment.airflow_config().unwrap(), Path::new("/home/some/my.cfg"));
    }

    #[test]
    fn users_are_those_of_the_file() {
        let homes = user_homes(
            b"root:x:0:0:root:/root:/bin/sh\n# none\n+\nshort:x:1\n\xff:x:4:4::/odd:\n\
              me:x:2:2::/home/me:\nme:x:3:3::/other:\n",
        );
        let known = [("me", "/home/me"), ("root", "/root")];
        assert_eq!(homes, known.map(|(name, home)| (name.to_owned(), home.to_owned())).into());
    }

    #[test]
    fn debug_shows_no_values() {
        let environment = Environment::empty("/").with("AIRFLOW__CORE__FERNET_KEY", "s3cret");
        assert!(!format!("{environment:?}").contains("s3cret"));
    }
}
