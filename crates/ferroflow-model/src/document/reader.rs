//! Walking a document: where we are, what was expected there, and what was found instead.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::value::{Value, parse, with_arena};

/// How many problems of one document are told in full. A document with more has one cause behind them.
const MAX_PROBLEMS: usize = 100;

/// Something in a document that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as a path: `tasks[3].trigger_rule`.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Everything that is wrong with a document: at least one problem, in the order in which it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    more: usize,
}

impl Problems {
    pub(crate) fn one(problem: Problem) -> Self {
        Self { list: vec![problem], more: 0 }
    }

    /// The problems; the first hundred if there are more.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// How many there are beyond the listed ones.
    pub fn more(&self) -> usize {
        self.more
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.list.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

/// Parses a text and reads it. A value comes back only if there was no problem at all.
pub(crate) fn decode<T>(
    text: &str,
    read: impl for<'v> FnOnce(&mut Reader<'v>, &'v Value<'v>) -> Option<T>,
) -> Result<T, Problems> {
    with_arena(|arena| read_value(&parse(text, arena)?, read))
}

/// Reads what was parsed. A value comes back only if there was no problem at all.
pub(crate) fn read_value<'v, T>(
    value: &'v Value<'v>,
    read: impl FnOnce(&mut Reader<'v>, &'v Value<'v>) -> Option<T>,
) -> Result<T, Problems> {
    let mut reader = Reader::default();
    match read(&mut reader, value) {
        Some(decoded) if reader.problems.list.is_empty() => Ok(decoded),
        _ => {
            if reader.problems.list.is_empty() {
                reader.problem("cannot be read");
            }
            Err(reader.problems)
        }
    }
}

/// One step of the way from the root of a document to a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

impl<'v> From<&'v str> for Step<'v> {
    fn from(key: &'v str) -> Self {
        Self::Key(key)
    }
}

impl<'v> From<&&'v str> for Step<'v> {
    fn from(key: &&'v str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A path as text; the root is called `document`.
pub(crate) fn place_of(steps: &[Step<'_>]) -> String {
    if steps.is_empty() {
        return "document".to_owned();
    }
    let mut place = String::new();
    for step in steps {
        match step {
            Step::Key(key) if is_plain(key) => {
                if !place.is_empty() {
                    place.push('.');
                }
                place.push_str(key);
            }
            // Quoted, so that a place cannot be taken for another one, nor do anything to a terminal.
            Step::Key(key) => {
                let _ = write!(place, "[{key:?}]");
            }
            Step::Index(index) => {
                let _ = write!(place, "[{index}]");
            }
        }
    }
    place
}

/// What is told of a text from elsewhere: its beginning, if it is very long.
fn shortened(mut text: String) -> String {
    const LONGEST: usize = 1000;
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Reads values and writes down what is wrong with them.
///
/// Its methods answer `None` after having noted a problem, so a caller goes on with the rest of the document
/// and everything that is wrong is found in one pass.
#[derive(Default)]
pub(crate) struct Reader<'v> {
    steps: Vec<Step<'v>>,
    problems: Problems,
}

impl<'v> Reader<'v> {
    /// Notes a problem with the value we are at.
    pub(crate) fn problem(&mut self, what: impl fmt::Display) {
        if self.problems.list.len() < MAX_PROBLEMS {
            let (place, what) = (shortened(place_of(&self.steps)), shortened(what.to_string()));
            self.problems.list.push(Problem { place, what });
        } else {
            self.problems.more += 1;
        }
    }

    /// Notes that another kind of value was expected here.
    pub(crate) fn expected(&mut self, what: &str, found: &Value<'_>) {
        self.problem(format_args!("expected {what}, found {}", found.kind()));
    }

    /// Does something one step deeper.
    pub(crate) fn within<T>(&mut self, step: impl Into<Step<'v>>, read: impl FnOnce(&mut Self) -> T) -> T {
        self.steps.push(step.into());
        let answer = read(self);
        self.steps.pop();
        answer
    }

    /// Reads what stands under a key that must be there.
    pub(crate) fn required<T>(
        &mut self,
        object: &'v Value<'v>,
        key: &'static str,
        read: impl FnOnce(&mut Self, &'v Value<'v>) -> Option<T>,
    ) -> Option<T> {
        self.within(key, |reader| {
            let value = object.get(key);
            if value.is_none() {
                reader.problem("is missing");
            }
            read(reader, value?)
        })
    }

    /// Reads what stands under a key, if the key is there and not null.
    pub(crate) fn optional<T>(
        &mut self,
        object: &'v Value<'v>,
        key: &'static str,
        read: impl FnOnce(&mut Self, &'v Value<'v>) -> Option<T>,
    ) -> Option<T> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(value) => self.within(key, |reader| read(reader, value)),
        }
    }

    /// The entries of an object.
    pub(crate) fn object(&mut self, value: &'v Value<'v>) -> Option<&'v [(&'v str, Value<'v>)]> {
        match value {
            Value::Object(entries) => Some(entries),
            other => {
                self.expected("an object", other);
                None
            }
        }
    }

    /// Every item of a list. Items that cannot be read are left out, with a problem each.
    pub(crate) fn list<T>(
        &mut self,
        value: &'v Value<'v>,
        mut read: impl FnMut(&mut Self, &'v Value<'v>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Value::List(items) = value else {
            self.expected("a list", value);
            return None;
        };
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if let Some(item) = self.within(index, |reader| read(reader, item)) {
                list.push(item);
            }
        }
        Some(list)
    }

    /// A string.
    pub(crate) fn text(&mut self, value: &'v Value<'v>) -> Option<&'v str> {
        match value {
            Value::Text(text) => Some(text),
            other => {
                self.expected("a string", other);
                None
            }
        }
    }

    /// `true` or `false`, or a number that Python takes for one: an author may have written `1`.
    pub(crate) fn boolean(&mut self, value: &Value<'_>) -> Option<bool> {
        match value {
            Value::Bool(boolean) => Some(*boolean),
            Value::Int(number) => Some(*number != 0),
            other => {
                self.expected("a boolean", other);
                None
            }
        }
    }

    /// A whole number that fits the type; `3.0` is one too.
    pub(crate) fn integer<T: TryFrom<i64>>(&mut self, value: &Value<'_>) -> Option<T> {
        let whole = match value {
            Value::Int(whole) => Some(*whole),
            #[expect(clippy::cast_possible_truncation, reason = "the float is whole and within ±2⁵³")]
            Value::Float(float) if float.fract() == 0.0 && float.abs() < 9e15 => Some(*float as i64),
            _ => None,
        };
        let Some(whole) = whole else {
            self.expected("an integer", value);
            return None;
        };
        let fitting = T::try_from(whole).ok();
        if fitting.is_none() {
            self.problem(format_args!("{whole} is out of range"));
        }
        fitting
    }

    /// A number.
    pub(crate) fn float(&mut self, value: &Value<'_>) -> Option<f64> {
        match value {
            Value::Float(float) => Some(*float),
            #[expect(clippy::cast_precision_loss, reason = "what Python's float() does to it too")]
            Value::Int(whole) => Some(*whole as f64),
            other => {
                self.expected("a number", other);
                None
            }
        }
    }

    /// A word of a closed set.
    pub(crate) fn word<T: FromStr<Err: fmt::Display>>(&mut self, value: &'v Value<'v>) -> Option<T> {
        match self.text(value)?.parse() {
            Ok(word) => Some(word),
            Err(error) => {
                self.problem(error);
                None
            }
        }
    }

    /// A number of seconds as a duration, in whole microseconds as Python's `timedelta` has it.
    pub(crate) fn seconds(&mut self, value: &Value<'_>) -> Option<SignedDuration> {
        let seconds = self.float(value)?;
        let duration = timedelta(seconds);
        if duration.is_none() {
            self.problem(format_args!("{seconds} seconds is out of range"));
        }
        duration
    }

    /// Seconds since the epoch as an instant of Python's, to the microsecond.
    pub(crate) fn instant(&mut self, value: &Value<'_>) -> Option<Timestamp> {
        let seconds = self.float(value)?;
        let instant = timedelta(seconds).and_then(python_instant);
        if instant.is_none() {
            self.problem(format_args!("{seconds} seconds since 1970 is out of range"));
        }
        instant
    }
}

/// An instant of the years 1 to 9999. The last day of the last year lies just beyond what a `Timestamp` holds, and
/// many write it for "for ever": it becomes the last instant that there is.
pub(crate) fn python_instant(since_1970: SignedDuration) -> Option<Timestamp> {
    const FIRST: SignedDuration = SignedDuration::from_secs(-62_135_596_800);
    const END: SignedDuration = SignedDuration::from_secs(253_402_300_800);
    if since_1970 < FIRST || since_1970 >= END {
        return None;
    }
    let last = || Timestamp::constant(Timestamp::MAX.as_second(), 999_999_000);
    Some(Timestamp::from_duration(since_1970).unwrap_or_else(|_| last()))
}

/// Seconds as whole microseconds, rounding the fraction half to even as Python does; `None` beyond ±999999999 days,
/// which is where `timedelta` ends.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
pub(crate) fn timedelta(seconds: f64) -> Option<SignedDuration> {
    const LEAST: f64 = -999_999_999.0 * 86_400.0;
    const END: f64 = 1_000_000_000.0 * 86_400.0;
    if !(LEAST..END).contains(&seconds) {
        return None;
    }
    let whole = seconds.trunc();
    let fraction = ((seconds - whole) * 1e6).round_ties_even();
    Some(SignedDuration::from_secs(whole as i64) + SignedDuration::from_micros(fraction as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> Result<String, String> {
        decode(text, |reader, value| Some(reader.instant(value)?.to_string()))
            .map_err(|problems| problems.to_string())
    }

    #[test]
    fn instants_are_those_of_python() {
        assert_eq!(instant("1704067200.5").unwrap(), "2024-01-01T00:00:00.5Z");
        assert_eq!(instant("-62135596800").unwrap(), "0001-01-01T00:00:00Z");
        assert_eq!(
            instant("-62135596801").unwrap_err(),
            "document: -62135596801 seconds since 1970 is out of range"
        );
        assert_eq!(
            instant("253402300800").unwrap_err(),
            "document: 253402300800 seconds since 1970 is out of range"
        );
    }

    #[test]
    fn for_ever_is_the_last_instant_there_is() {
        assert_eq!(instant("253402214400").unwrap(), "9999-12-30T22:00:00.999999Z");
        assert_eq!(instant("253402300799.999").unwrap(), "9999-12-30T22:00:00.999999Z");
    }

    #[test]
    fn a_key_that_is_not_plain_is_quoted() {
        let steps = [Step::Key("children"), Step::Key("a.b"), Step::Index(1), Step::Key(""), Step::Key("c")];
        assert_eq!(place_of(&steps), r#"children["a.b"][1][""].c"#);
    }

    #[test]
    fn what_is_told_of_a_long_text_is_its_beginning() {
        let text = format!(r#"{{"{}": "{}"}}"#, "k".repeat(5000), "é".repeat(5000));
        let problems = decode(&text, |reader, value| {
            let [(key, value)] = reader.object(value)? else { return None };
            reader.within(*key, |reader| reader.word::<crate::state::RunType>(value))
        });
        let problem = &problems.unwrap_err().list()[0].clone();
        assert!(problem.place.len() < 1010 && problem.what.len() < 1010, "{problem}");
    }

    #[test]
    fn problems_beyond_a_hundred_are_counted() {
        let text = format!("[{}]", vec!["null"; 105].join(","));
        let problems = decode(&text, |reader, value| reader.list(value, |reader, item| reader.boolean(item)))
            .unwrap_err();
        assert_eq!((problems.list().len(), problems.more()), (100, 5));
        assert!(problems.to_string().ends_with("[99]: expected a boolean, found null\nand 5 more"));
    }
}
