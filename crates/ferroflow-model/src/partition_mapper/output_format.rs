//! Formats with placeholders, as keys of weeks and quarters have them.
//!
//! Airflow makes a regular expression of such a format to read keys back. It knows fewer directives than
//! `strptime`, takes the others for what they look like, and has names in braces.

use std::collections::HashMap;

use jiff::civil::{Date, Time};

use super::Period;
use super::problem::{KeyProblem, Result};
use crate::timetable::KeyMismatch;
use crate::timetable::key_format::{Step, digit, first_way};
use crate::timetable::local_time::{LocalTime, Place};

/// Why a format for keys of weeks or quarters makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatProblem {
    /// The same thing twice.
    #[error("the output format has {0} more than once")]
    Repeated(String),
    /// Something in braces that is not a name.
    #[error("`{{{0}}}` in the output format is not a name of letters, digits and `_` in braces")]
    NotAName(String),
    /// Nothing between two names.
    #[error("nothing stands between `{{{0}}}` in the output format and the name before it")]
    SideBySide(String),
    /// A name that nothing is known by.
    #[error("`{{{0}}}` in the output format stands for nothing; only `{{quarter}}` does")]
    Unknown(String),
    /// A brace without its pair.
    #[error("the output format has a single brace; one that stands for itself is written twice")]
    SingleBrace,
}

/// A format, ready to read keys by it.
pub(super) struct OutputFormat<'f> {
    format: &'f str,
    period: Period,
    pieces: Vec<Piece<'f>>,
}

enum Piece<'f> {
    Literal(char),
    Field { name: &'f str, kind: Kind },
}

/// What a named piece matches.
enum Kind {
    Digits(usize),
    Quarter,
    Word,
}

impl<'f> OutputFormat<'f> {
    /// Takes a format apart.
    pub(super) fn of(format: &'f str, period: Period) -> std::result::Result<Self, FormatProblem> {
        let mut pieces: Vec<Piece<'f>> = Vec::new();
        let mut rest = format;
        while let Some(c) = rest.chars().next() {
            let (piece, length) = field(rest, period)?.unwrap_or((Piece::Literal(c), c.len_utf8()));
            check(&pieces, &piece, &rest[..length])?;
            pieces.push(piece);
            rest = &rest[length..];
        }
        Ok(Self { format, period, pieces })
    }

    /// Reads a key: the date of a week, or the first day of a quarter.
    pub(super) fn parse(&self, key: &str) -> Result<LocalTime<'static>> {
        let characters: Vec<char> = key.chars().collect();
        let Some(found) = self.find(&characters) else {
            let mismatch = KeyMismatch::NoMatch { key: key.to_owned(), format: self.format.to_owned() };
            return Err(mismatch.into());
        };
        let needed: &[&str] =
            if self.period == Period::Quarter { &["Y", "quarter"] } else { &["Y", "m", "d"] };
        let parts: Option<Vec<&[char]>> = needed.iter().map(|name| found.get(name).copied()).collect();
        let Some(parts) = parts else {
            let needed = if self.period == Period::Quarter { "%Y and {quarter}" } else { "%Y, %m and %d" };
            return Err(KeyProblem::Incomplete { format: self.format.to_owned(), needed });
        };
        let numbers: Option<Vec<i16>> = parts.into_iter().map(number).collect();
        let date = match numbers.as_deref() {
            Some([year, quarter]) => date(*year, quarter.saturating_mul(3).saturating_sub(2), 1),
            Some([year, month, day]) => date(*year, *month, *day),
            _ => None,
        };
        let Some(date) = date else {
            let reason = "there is no such day".to_owned();
            return Err(KeyMismatch::NoSuchTime { key: key.to_owned(), reason }.into());
        };
        Ok(LocalTime { wall: date.to_datetime(Time::midnight()), place: Place::Nowhere })
    }

    /// What the named pieces match in a key. A line feed may follow.
    fn find<'k>(&self, key: &'k [char]) -> Option<HashMap<&'f str, &'k [char]>> {
        let step = |piece: usize, rest: &[char]| match &self.pieces[piece] {
            Piece::Literal(c) => Step::One(rest.first() == Some(c)),
            Piece::Field { kind, .. } => Step::Lengths(kind.lengths(rest)),
        };
        let may_end = |rest: &[char]| matches!(rest, [] | ['\n']);
        let (choices, _) = first_way(self.pieces.len(), key, step, may_end)?;
        let found = choices.iter().filter_map(|choice| match self.pieces[choice.piece] {
            Piece::Field { name, .. } => Some((name, &key[choice.place..choice.place + choice.length])),
            Piece::Literal(_) => None,
        });
        Some(found.collect())
    }
}

impl Kind {
    fn lengths(&self, rest: &[char]) -> Vec<usize> {
        let run = |is: fn(char) -> bool| rest.iter().take_while(|c| is(**c)).count();
        match self {
            Self::Digits(count) if run(|c| digit(c).is_some()) >= *count => vec![*count],
            Self::Quarter if matches!(rest.first(), Some('1'..='4')) => vec![1],
            Self::Word => (1..=run(|c| c.is_alphanumeric() || c == '_')).rev().collect(),
            _ => Vec::new(),
        }
    }
}

/// The named piece that a format begins with, if it does, and its length.
fn field(format: &str, period: Period) -> std::result::Result<Option<(Piece<'_>, usize)>, FormatProblem> {
    let directive = format.strip_prefix('%').and_then(|rest| rest.chars().next());
    if let Some('Y' | 'm' | 'd' | 'H' | 'M' | 'S' | 'V' | 'U' | 'W') = directive {
        let name = &format[1..2];
        let count = if name == "Y" { 4 } else { 2 };
        return Ok(Some((Piece::Field { name, kind: Kind::Digits(count) }, 2)));
    }
    let Some((name, _)) = format.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return Ok(None);
    };
    if !is_identifier(name) {
        return Err(FormatProblem::NotAName(name.to_owned()));
    }
    let kind = if period == Period::Quarter && name == "quarter" { Kind::Quarter } else { Kind::Word };
    Ok(Some((Piece::Field { name, kind }, name.len() + 2)))
}

/// Whether a piece may follow those before it.
fn check(before: &[Piece<'_>], piece: &Piece<'_>, text: &str) -> std::result::Result<(), FormatProblem> {
    let Piece::Field { name, kind } = piece else { return Ok(()) };
    if before.iter().any(|piece| matches!(piece, Piece::Field { name: other, .. } if other == name)) {
        return Err(FormatProblem::Repeated(text.to_owned()));
    }
    match (before.last(), kind) {
        (Some(Piece::Field { kind: Kind::Word, .. }), Kind::Word) => {
            Err(FormatProblem::SideBySide((*name).to_owned()))
        }
        _ => Ok(()),
    }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// Python's `int`: digits of any script, between which there may be a `_`.
fn number(text: &[char]) -> Option<i16> {
    let mut groups = text.split(|c| *c == '_');
    if groups.clone().any(<[char]>::is_empty) {
        return None;
    }
    groups.try_fold(0_i16, |number, digits| {
        digits.iter().try_fold(number, |number, c| {
            number.checked_mul(10)?.checked_add(i16::try_from(digit(*c)?).ok()?)
        })
    })
}

fn date(year: i16, month: i16, day: i16) -> Option<Date> {
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok().filter(|date| date.year() >= 1)
}

/// Puts a quarter into what `strftime` left of a format, as Python's `str.format` does.
pub(super) fn fill_in(text: &str, quarter: i8) -> std::result::Result<String, FormatProblem> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(brace) = rest.find(['{', '}']) {
        filled.push_str(&rest[..brace]);
        rest = &rest[brace..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            filled.push_str(&rest[..1]);
            rest = &rest[2..];
            continue;
        }
        let field = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let (name, after) = field.ok_or(FormatProblem::SingleBrace)?;
        if name != "quarter" {
            return Err(FormatProblem::Unknown(name.to_owned()));
        }
        filled.push_str(&quarter.to_string());
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}
