//! What a `strptime` format matches: Python's regular expression for it, as data.

use std::collections::HashSet;

use super::search::{Step, first_way};
use super::strptime::KeyMismatch;

/// One piece of a pattern.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// This character, in upper or lower case.
    Literal(char),
    /// White space, at least one.
    Space,
    /// What a directive stands for.
    Field(char),
}

/// A format, ready to be matched.
pub(super) struct Pattern(Vec<Piece>);

/// What directives matched, in their order.
pub(super) type Found = Vec<(char, Vec<char>)>;

impl Pattern {
    /// Takes a format apart. A directive may stand in it once only.
    pub(super) fn of(format: &str) -> Result<Self, KeyMismatch> {
        let mut pieces = Vec::new();
        add_format(&mut pieces, format)?;
        let mut seen = HashSet::new();
        for piece in &pieces {
            match piece {
                Piece::Field(directive) if !seen.insert(*directive) => {
                    return Err(KeyMismatch::RepeatedDirective { directive: *directive });
                }
                _ => {}
            }
        }
        Ok(Self(pieces))
    }

    /// Matches the beginning of a key, and says what each directive found and where the match ended.
    pub(super) fn find(&self, key: &[char]) -> Option<(Found, usize)> {
        let step = |piece: usize, rest: &[char]| match self.0[piece] {
            Piece::Literal(c) => Step::One(rest.first().is_some_and(|other| same(c, *other))),
            ambiguous => Step::Lengths(lengths(ambiguous, rest)),
        };
        let (choices, end) = first_way(self.0.len(), key, step, |_| true)?;
        let fields = choices.iter().filter_map(|choice| match self.0[choice.piece] {
            Piece::Field(directive) => {
                Some((directive, key[choice.place..choice.place + choice.length].to_vec()))
            }
            _ => None,
        });
        Some((fields.collect(), end))
    }
}

fn add_format(pieces: &mut Vec<Piece>, format: &str) -> Result<(), KeyMismatch> {
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if is_space(c) {
            while chars.next_if(|c| is_space(*c)).is_some() {}
            pieces.push(Piece::Space);
            continue;
        }
        if c != '%' {
            pieces.push(Piece::Literal(c));
            continue;
        }
        match chars.next() {
            None => return Err(KeyMismatch::StrayPercent),
            Some('%') => pieces.push(Piece::Literal('%')),
            Some('c') => add_format(pieces, "%a %b %d %H:%M:%S %Y")?,
            Some('x') => add_format(pieces, "%m/%d/%y")?,
            Some('X') => add_format(pieces, "%H:%M:%S")?,
            Some(directive) if "aAbBdfGHIjmMpSuUVwWyYzZ".contains(directive) => {
                pieces.push(Piece::Field(directive));
            }
            Some(directive) => return Err(KeyMismatch::UnknownDirective { directive }),
        }
    }
    Ok(())
}

/// The lengths that a piece can match at the beginning of a text, in the order in which they are tried.
fn lengths(piece: Piece, text: &[char]) -> Vec<usize> {
    let run = |is: fn(char) -> bool| text.iter().take_while(|c| is(**c)).count();
    match piece {
        Piece::Literal(_) => Vec::new(),
        Piece::Space => (1..=run(is_space)).rev().collect(),
        Piece::Field('f') => (1..=run(|c| c.is_ascii_digit()).min(6)).rev().collect(),
        Piece::Field('z') => offset_lengths(text),
        Piece::Field(directive) => {
            choices_of(directive).filter_map(|choice| length_of(choice, text)).collect()
        }
    }
}

/// The texts that a directive stands for, as alternatives of characters, `[a-b]` and `\d`. The longest comes
/// first, but for digits the order is not quite that: `%d` takes a lone ` 1` last.
fn choices_of(directive: char) -> impl Iterator<Item = &'static str> {
    let choices = match directive {
        'a' => "mon|tue|wed|thu|fri|sat|sun",
        'A' => "wednesday|thursday|saturday|tuesday|monday|friday|sunday",
        'b' => "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec",
        'B' => "september|february|november|december|january|october|august|march|april|june|july|may",
        'd' => r"3[0-1]|[1-2]\d|0[1-9]|[1-9]| [1-9]",
        'G' | 'Y' => r"\d\d\d\d",
        'H' => r"2[0-3]|[0-1]\d|\d",
        'I' | 'm' => "1[0-2]|0[1-9]|[1-9]",
        'j' => r"36[0-6]|3[0-5]\d|[1-2]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9]",
        'M' => r"[0-5]\d|\d",
        'p' => "am|pm",
        'S' => r"6[0-1]|[0-5]\d|\d",
        'u' => "[1-7]",
        'U' | 'W' => r"5[0-3]|[0-4]\d|\d",
        'V' => r"5[0-3]|0[1-9]|[1-4]\d|\d",
        'w' => "[0-6]",
        'y' => r"\d\d",
        'Z' => "utc|gmt",
        _ => return None.into_iter().flatten(),
    };
    Some(choices.split('|')).into_iter().flatten()
}

/// How long the beginning of a text is that is such a choice.
fn length_of(choice: &str, text: &[char]) -> Option<usize> {
    let mut wanted = choice.chars();
    let mut length = 0;
    while let Some(symbol) = wanted.next() {
        let c = *text.get(length)?;
        let fits = match symbol {
            '\\' => wanted.next().is_some() && digit(c).is_some(),
            '[' => {
                let (first, last) = (wanted.next()?, wanted.nth(1)?);
                wanted.next().is_some() && (first..=last).contains(&c)
            }
            literal => same(literal, c),
        };
        if !fits {
            return None;
        }
        length += 1;
    }
    Some(length)
}

/// `%z`: `Z`, or sign, hours and minutes, if there are some seconds, and if there are some a fraction of them.
fn offset_lengths(text: &[char]) -> Vec<usize> {
    if text.first() == Some(&'Z') {
        return vec![1];
    }
    let after = |start: usize, choices: &[&str]| {
        let rest = text.get(start..)?;
        choices.iter().find_map(|choice| length_of(choice, rest)).map(|length| start + length)
    };
    let minutes = [r"+\d\d:[0-5]\d", r"-\d\d:[0-5]\d", r"+\d\d[0-5]\d", r"-\d\d[0-5]\d"];
    let Some(minutes) = after(0, &minutes) else { return Vec::new() };
    let Some(seconds) = after(minutes, &[r":[0-5]\d", r"[0-5]\d"]) else { return vec![minutes] };
    let mut lengths = Vec::new();
    if let Some(('.', fraction)) =
        text.get(seconds..).and_then(<[char]>::split_first).map(|(c, rest)| (*c, rest))
    {
        let digits = fraction.iter().take(6).take_while(|c| digit(**c).is_some()).count();
        lengths.extend((1..=digits).rev().map(|digits| seconds + 1 + digits));
    }
    lengths.extend([seconds, minutes]);
    lengths
}

/// Whether two characters are the same but for their case, in any script.
fn same(one: char, other: char) -> bool {
    // By way of the small letter, as there are capitals with the same one: `K` is also the sign for kelvin.
    let folded = |c: char| c.to_lowercase().next().into_iter().flat_map(char::to_uppercase);
    one == other || folded(one).eq(folded(other))
}

/// White space as Python has it: some separators of ASCII belong to it.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// The value of a decimal digit of any script, which Python's `\d` and `int` take.
pub(crate) fn digit(c: char) -> Option<u32> {
    /// Where the digits of a script begin.
    const ZEROS: [u32; 66] = [
        0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
        0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0,
        0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30,
        0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0,
        0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec,
        0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
    ];
    let code = u32::from(c);
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last()?;
    Some(code - zero).filter(|digit| *digit < 10)
}
