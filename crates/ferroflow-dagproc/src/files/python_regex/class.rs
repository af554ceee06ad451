//! Character classes: Python's have no classes in them, and no operators but the range.

use super::escape::{self, Escape};
use super::literal;

/// One member of a class.
enum Member {
    Char(char),
    Class(&'static str),
}

/// The class whose inside begins at `start`, for the engine, and where it ends.
pub(super) fn translate(chars: &[char], start: usize) -> Result<(String, usize), String> {
    let unterminated = || "unterminated character set".to_owned();
    let mut at = start;
    let mut class = String::from("[");
    if chars.get(at) == Some(&'^') {
        class.push('^');
        at += 1;
    }
    let mut is_first = true;
    loop {
        if chars.get(at) == Some(&']') && !is_first {
            class.push(']');
            return Ok((class, at + 1));
        }
        is_first = false;
        let (low, next) = member(chars, at)?.ok_or_else(unterminated)?;
        at = next;
        // A hyphen before the closing bracket stands for itself.
        if chars.get(at) != Some(&'-') || chars.get(at + 1) == Some(&']') {
            push(&mut class, &low);
            continue;
        }
        let (high, next) = member(chars, at + 1)?.ok_or_else(unterminated)?;
        at = next;
        match (low, high) {
            (Member::Char(low), Member::Char(high)) if low <= high => {
                class.extend([&literal(low), "-", &literal(high)]);
            }
            _ => return Err("bad character range".to_owned()),
        }
    }
}

fn member(chars: &[char], at: usize) -> Result<Option<(Member, usize)>, String> {
    let Some(&char) = chars.get(at) else { return Ok(None) };
    if char != '\\' {
        return Ok(Some((Member::Char(char), at + 1)));
    }
    let (escape, end) = escape::read(chars, at + 1, true)?;
    match escape {
        Escape::Char(char) => Ok(Some((Member::Char(char), end))),
        Escape::Class(class) => Ok(Some((Member::Class(class), end))),
        Escape::Group(_) | Escape::Place(_) => Err("bad escape in a character set".to_owned()),
    }
}

fn push(class: &mut String, member: &Member) {
    match member {
        Member::Char(char) => class.push_str(&literal(*char)),
        Member::Class(inner) => class.push_str(inner),
    }
}
