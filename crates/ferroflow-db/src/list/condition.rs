//! What has to be true of a row to be in a list.

use crate::list::Value;
use crate::list::value::is_wide;

#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Any of these; `None` is NULL. None of nothing.
    OneOf(Vec<Option<Value>>),
    AtLeast(Value),
    Above(Value),
    AtMost(Value),
    Below(Value),
    /// A text that has any of these patterns in it, whatever their case; `%` and `_` stand for others.
    Like(Vec<String>),
    /// A text that has this in it, whatever its case.
    Contains(String),
    /// A text that has this pattern in it, as it is written; `%` and `_` stand for others.
    LikeExactly(String),
    /// A text that begins with any of these, as far as their last letter or digit.
    StartsWith(Vec<String>),
    Not(Box<Condition>),
}

impl Condition {
    pub fn is(value: impl Into<Value>) -> Self {
        Self::OneOf(vec![Some(value.into())])
    }

    pub fn is_any<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Self {
        Self::OneOf(values.into_iter().map(|value| Some(value.into())).collect())
    }

    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Whether it compares with a [wide](is_wide) text.
    pub(super) fn has_wide_text(&self) -> bool {
        let is_wide_value = |value: &Value| matches!(value, Value::Text(text) if is_wide(text));
        match self {
            Self::OneOf(values) => values.iter().flatten().any(is_wide_value),
            Self::AtLeast(value) | Self::Above(value) | Self::AtMost(value) | Self::Below(value) => {
                is_wide_value(value)
            }
            Self::Like(texts) | Self::StartsWith(texts) => texts.iter().any(|text| is_wide(text)),
            Self::Contains(text) | Self::LikeExactly(text) => is_wide(text),
            Self::Not(condition) => condition.has_wide_text(),
        }
    }

    /// What Airflow's REST API means by a parameter `…_pattern`: `|` separates alternatives, and `~` is anything.
    pub fn pattern(text: &str) -> Self {
        Self::Like(if text == "~" { vec!["%".to_owned()] } else { alternatives(text) })
    }

    /// What it means by `…_prefix_pattern`.
    pub fn prefix(text: &str) -> Self {
        Self::StartsWith(if text == "~" { vec![String::new()] } else { alternatives(text) })
    }
}

fn alternatives(text: &str) -> Vec<String> {
    let parts: Vec<String> =
        text.split('|').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect();
    if text.contains('|') && !parts.is_empty() { parts } else { vec![text.to_owned()] }
}

/// The texts that begin with a prefix are at least the first of these and less than the second, if there is one. The prefix
/// ends with its last letter or digit: collations sort other characters in ways of their own.
pub(super) fn prefix_range(prefix: &str) -> Option<(&str, Option<String>)> {
    let prefix = prefix.trim_end_matches(|last: char| !last.is_alphanumeric());
    (!prefix.is_empty()).then(|| (prefix, after(prefix)))
}

fn after(prefix: &str) -> Option<String> {
    let mut rest = prefix.trim_end_matches(|last: char| !last.is_alphanumeric()).to_owned();
    while let Some(last) = rest.pop() {
        let next = char::from_u32(u32::from(last) + 1).filter(|next| next.is_alphanumeric());
        if let Some(next) = next.filter(|_| last.is_alphanumeric()) {
            rest.push(next);
            return Some(rest);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_as_airflow_reads_them() {
        let like = |texts: &[&str]| Condition::Like(texts.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(Condition::pattern("a"), like(&["a"]));
        assert_eq!(Condition::pattern(" a | b |"), like(&["a", "b"]));
        assert_eq!(Condition::pattern("~"), like(&["%"]));
        assert_eq!(Condition::pattern("|"), like(&["|"]));
        assert_eq!(Condition::prefix("~"), Condition::StartsWith(vec![String::new()]));
    }

    #[test]
    fn prefixes_end_before_the_next_letter_or_digit() {
        let range = |prefix| prefix_range(prefix).map(|(from, to)| (from.to_owned(), to));
        let to = |text: &str| Some(text.to_owned());
        assert_eq!(range("test_"), Some(("test".to_owned(), to("tesu"))));
        assert_eq!(range("az"), Some(("az".to_owned(), to("b"))));
        assert_eq!(range("z"), Some(("z".to_owned(), None)));
        assert_eq!(range("a9"), Some(("a9".to_owned(), to("b"))));
        assert_eq!((range("__"), range("")), (None, None));
    }
}
