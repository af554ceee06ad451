//! What an option may hold: the vocabulary of the tables in [`crate::sections`].

use std::fmt::Display;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

use crate::configuration::Configuration;
use crate::convert;
use crate::error::{BadValue, Error};
use crate::facts::FACTS;
use crate::ini::is_space;
use crate::secret::Secret;
use crate::suggest;

/// Turns an option's text into a `T`; an error says what is allowed.
pub(crate) trait Rule<T> {
    fn parse(&self, text: &str) -> Result<T, String>;

    /// What an option is that is not configured and has no default.
    fn absent(&self) -> Option<T> {
        None
    }
}

/// Reads options by rules and collects what is wrong.
pub(crate) struct Reader<'a> {
    configuration: &'a Configuration,
    pub(crate) problems: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(configuration: &'a Configuration) -> Self {
        Self { configuration, problems: Vec::new() }
    }

    /// The option's value, or `None` and a problem more.
    pub(crate) fn read<T>(&mut self, section: &str, key: &str, rule: &impl Rule<T>) -> Option<T> {
        match read(self.configuration, section, key, rule) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problems.push(problem.to_string());
                None
            }
        }
    }
}

/// The option's value by the rule, or an error that names its place.
pub(crate) fn read<T>(
    configuration: &Configuration,
    section: &str,
    key: &str,
    rule: &impl Rule<T>,
) -> Result<T, Error> {
    let Some(value) = configuration.get(section, key)? else {
        return rule.absent().ok_or_else(|| suggest::explain_absence(configuration, section, key));
    };
    let choices = FACTS
        .choices(section, key)
        .filter(|choices| !value.text.is_empty() && !choices.contains(&value.text));
    let parsed = match choices {
        Some(choices) => Err(one_of(choices)),
        None => rule.parse(&value.text),
    };
    parsed.map_err(|expected| {
        let shown = if value.sensitive { "(hidden)".to_owned() } else { format!("{:?}", value.text) };
        Error::from(Box::new(BadValue { place: value.source, shown, expected }))
    })
}

fn one_of(choices: &[impl Display]) -> String {
    let names: Vec<String> =
        choices.iter().map(ToString::to_string).filter(|name| !name.is_empty()).collect();
    format!("one of {}", names.join(", "))
}

/// Any text, as it is.
pub(crate) struct Text;

impl Rule<String> for Text {
    fn parse(&self, text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }
}

/// Text that must not reach a log. Trailing white space goes: commands end their output with a newline.
pub(crate) struct Hidden;

impl Rule<Secret> for Hidden {
    fn parse(&self, text: &str) -> Result<Secret, String> {
        Ok(Secret::new(text.trim_end_matches(is_space)))
    }
}

/// A value that may be empty or missing.
pub(crate) struct Maybe<R>(pub(crate) R);

impl<T, R: Rule<T>> Rule<Option<T>> for Maybe<R> {
    fn parse(&self, text: &str) -> Result<Option<T>, String> {
        if text.trim_matches(is_space).is_empty() { Ok(None) } else { self.0.parse(text).map(Some) }
    }

    fn absent(&self) -> Option<Option<T>> {
        Some(None)
    }
}

/// An option that Airflow knows without listing it, with the default from its code.
pub(crate) struct Unlisted<R, T>(pub(crate) R, pub(crate) T);

impl<T: Clone, R: Rule<T>> Rule<T> for Unlisted<R, T> {
    fn parse(&self, text: &str) -> Result<T, String> {
        self.0.parse(text)
    }

    fn absent(&self) -> Option<T> {
        Some(self.1.clone())
    }
}

/// A truth value.
pub(crate) struct Flag;

impl Rule<bool> for Flag {
    fn parse(&self, text: &str) -> Result<bool, String> {
        convert::boolean(text).ok_or_else(|| "true or false (also t, f, 1, 0)".to_owned())
    }
}

/// A whole number, as large as its type allows.
pub(crate) struct Whole<N>(i64, PhantomData<N>);

/// A whole number that is not less than `least`.
pub(crate) fn at_least<N>(least: i64) -> Whole<N> {
    Whole(least, PhantomData)
}

impl<N: TryFrom<i64>> Rule<N> for Whole<N> {
    fn parse(&self, text: &str) -> Result<N, String> {
        let number = convert::integer(text).filter(|number| *number >= self.0);
        number.and_then(|number| N::try_from(number).ok()).ok_or_else(|| match self.0 {
            i64::MIN => "a whole number".to_owned(),
            least => format!("a whole number, {least} or more"),
        })
    }
}

/// A TCP or UDP port.
pub(crate) struct Port;

impl Rule<u16> for Port {
    fn parse(&self, text: &str) -> Result<u16, String> {
        convert::integer(text)
            .and_then(|number| u16::try_from(number).ok())
            .ok_or_else(|| "a port number, 0 to 65535".to_owned())
    }
}

/// A span of time given in whole seconds.
pub(crate) struct WholeSeconds;

impl Rule<Duration> for WholeSeconds {
    fn parse(&self, text: &str) -> Result<Duration, String> {
        convert::integer(text)
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map(Duration::from_secs)
            .ok_or_else(|| "a whole number of seconds, 0 or more".to_owned())
    }
}

/// A span of time given in seconds, with or without a fraction.
pub(crate) struct Seconds;

impl Rule<Duration> for Seconds {
    fn parse(&self, text: &str) -> Result<Duration, String> {
        convert::float(text)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| "a number of seconds, 0 or more".to_owned())
    }
}

/// Texts between commas.
pub(crate) struct List;

impl Rule<Vec<String>> for List {
    fn parse(&self, text: &str) -> Result<Vec<String>, String> {
        Ok(convert::list(text))
    }
}

/// JSON.
pub(crate) struct Json;

impl Rule<serde_json::Value> for Json {
    fn parse(&self, text: &str) -> Result<serde_json::Value, String> {
        serde_json::from_str(text).map_err(|error| format!("JSON ({error})"))
    }
}

/// JSON that must not reach a log.
pub(crate) struct HiddenJson;

impl Rule<Secret> for HiddenJson {
    fn parse(&self, text: &str) -> Result<Secret, String> {
        Json.parse(text)?;
        Hidden.parse(text)
    }
}

/// Permission bits in octal, with or without `0o`.
pub(crate) struct Permissions;

impl Rule<u32> for Permissions {
    fn parse(&self, text: &str) -> Result<u32, String> {
        let text = text.trim_matches(is_space);
        let digits = text.strip_prefix("0o").or_else(|| text.strip_prefix("0O")).unwrap_or(text);
        let bits = u32::from_str_radix(digits, 8).ok().filter(|bits| *bits <= 0o7777);
        bits.ok_or_else(|| "permission bits such as 0o775".to_owned())
    }
}

/// A path of a file or a directory.
pub(crate) struct Path;

impl Rule<PathBuf> for Path {
    fn parse(&self, text: &str) -> Result<PathBuf, String> {
        Ok(PathBuf::from(text.trim_end_matches(is_space)))
    }
}

/// Any number.
pub(crate) struct Number;

impl Rule<f64> for Number {
    fn parse(&self, text: &str) -> Result<f64, String> {
        convert::float(text).ok_or_else(|| "a number".to_owned())
    }
}
