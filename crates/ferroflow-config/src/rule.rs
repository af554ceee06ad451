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

/// A whole number that is not less than a bound.
pub(crate) struct Whole<N>(i64, PhantomData<N>);

/// A whole number that is not less than `least`.
pub(crate) fn at_least<N>(least: i64) -> Whole<N> {
    Whole(least, PhantomData)
}

impl<N: Integer> Rule<N> for Whole<N> {
    fn parse(&self, text: &str) -> Result<N, String> {
        convert::integer(text).filter(|number| *number >= self.0).map(N::nearest).ok_or_else(|| {
            if self.0 == i64::MIN {
                "a whole number".to_owned()
            } else {
                format!("a whole number, {} or more", self.0)
            }
        })
    }
}

/// A whole number; `None` if it is 0 or less, which to Airflow means off or without limit.
pub(crate) struct Positive<N>(PhantomData<N>);

impl<N> Positive<N> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<N: Integer> Rule<Option<N>> for Positive<N> {
    fn parse(&self, text: &str) -> Result<Option<N>, String> {
        let number = convert::integer(text).ok_or("a whole number; 0 or less means off")?;
        Ok((number > 0).then(|| N::nearest(number)))
    }
}

/// A type of numbers.
///
/// Python's are without limit, and people write `9999999999` for "no limit": the largest that there is means the
/// same.
pub(crate) trait Integer: Sized {
    fn nearest(number: i64) -> Self;
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl Integer for $type {
            fn nearest(number: i64) -> Self {
                Self::try_from(number).unwrap_or(if number < 0 { Self::MIN } else { Self::MAX })
            }
        })*
    };
}

integers!(i32, u32, u64);

impl Integer for i64 {
    fn nearest(number: i64) -> Self {
        number
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
        convert::float(text).and_then(span).ok_or_else(|| "a number of seconds, 0 or more".to_owned())
    }
}

/// A span of time given in milliseconds, with or without a fraction.
pub(crate) struct Milliseconds;

impl Rule<Duration> for Milliseconds {
    fn parse(&self, text: &str) -> Result<Duration, String> {
        convert::float(text)
            .and_then(|milliseconds| span(milliseconds / 1000.0))
            .ok_or_else(|| "a number of milliseconds, 0 or more".to_owned())
    }
}

/// Whole seconds; 0 or less means off.
pub(crate) struct WholeSecondsOrOff;

impl Rule<Option<Duration>> for WholeSecondsOrOff {
    fn parse(&self, text: &str) -> Result<Option<Duration>, String> {
        let seconds = convert::integer(text).ok_or("a whole number of seconds; 0 or less means off")?;
        Ok(u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs))
    }
}

/// Seconds, with or without a fraction; 0 or less means off.
pub(crate) struct SecondsOrOff;

impl Rule<Option<Duration>> for SecondsOrOff {
    fn parse(&self, text: &str) -> Result<Option<Duration>, String> {
        const EXPECTED: &str = "a number of seconds; 0 or less means off";
        let seconds = convert::float(text).ok_or(EXPECTED)?;
        if seconds <= 0.0 {
            return Ok(None);
        }
        span(seconds).map(Some).ok_or_else(|| EXPECTED.to_owned())
    }
}

/// That many seconds, if it is a span of time at all.
fn span(seconds: f64) -> Option<Duration> {
    // `inf` is a number to Python, and means never. More than a century does as well, and unlike `Duration::MAX`
    // it can be added to a date.
    const NEVER: Duration = Duration::from_secs(u32::MAX as u64);
    if seconds == f64::INFINITY { Some(NEVER) } else { Duration::try_from_secs_f64(seconds).ok() }
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

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    const OFF: Result<Option<Duration>, ()> = Ok(None);
    const HALF_A_MINUTE: Result<Option<Duration>, ()> = Ok(Some(Duration::from_secs(30)));
    const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

    #[test_case("0" => OFF)]
    #[test_case("-1" => OFF)]
    #[test_case("-1e3" => OFF)]
    #[test_case("30" => HALF_A_MINUTE)]
    #[test_case("3e1" => HALF_A_MINUTE)]
    #[test_case("0.5" => Err(()); "no fraction where Airflow reads an integer")]
    #[test_case("off" => Err(()))]
    #[test_case("" => Err(()))]
    fn whole_seconds_or_off(text: &str) -> Result<Option<Duration>, ()> {
        WholeSecondsOrOff.parse(text).map_err(|_| ())
    }

    #[test_case("0.0" => OFF)]
    #[test_case("-0.5" => OFF)]
    #[test_case("-inf" => OFF)]
    #[test_case("30" => HALF_A_MINUTE)]
    #[test_case("0.5" => Ok(Some(Duration::from_millis(500))))]
    #[test_case("inf" => Ok(Some(NEVER)))]
    #[test_case("nan" => Err(()))]
    #[test_case("never" => Err(()))]
    fn seconds_or_off(text: &str) -> Result<Option<Duration>, ()> {
        SecondsOrOff.parse(text).map_err(|_| ())
    }

    #[test_case("0" => Some(Duration::ZERO))]
    #[test_case("0.25" => Some(Duration::from_millis(250)))]
    #[test_case("inf" => Some(NEVER))]
    #[test_case("-0.1" => None)]
    #[test_case("nan" => None)]
    fn seconds(text: &str) -> Option<Duration> {
        Seconds.parse(text).ok()
    }

    #[test_case("60000" => Some(Duration::from_mins(1)))]
    #[test_case("0.5" => Some(Duration::from_micros(500)))]
    #[test_case("-1" => None)]
    fn milliseconds(text: &str) -> Option<Duration> {
        Milliseconds.parse(text).ok()
    }

    #[test_case("7" => Ok(Some(7)))]
    #[test_case("0" => Ok(None))]
    #[test_case("-2" => Ok(None))]
    #[test_case("9999999999" => Ok(Some(u32::MAX)); "more than there can be is no limit")]
    #[test_case("1.5" => Err(()))]
    fn positive(text: &str) -> Result<Option<u32>, ()> {
        Positive::new().parse(text).map_err(|_| ())
    }

    #[test_case("9999999999" => Some(i32::MAX))]
    #[test_case("-9999999999" => Some(i32::MIN))]
    #[test_case("-5" => Some(-5))]
    #[test_case("x" => None)]
    fn any_whole_number(text: &str) -> Option<i32> {
        at_least(i64::MIN).parse(text).ok()
    }
}
