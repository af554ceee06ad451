//! Texts as Python shows them.

use std::fmt::Write as _;

/// A text as Python's `repr` shows it.
pub fn python_literal(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut literal = String::from(quote);
    for c in text.chars() {
        match c {
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '\\' => literal.push_str("\\\\"),
            c if c == quote => {
                literal.push('\\');
                literal.push(c);
            }
            // Writing to a string does not fail.
            c if c.is_control() => drop(write!(literal, "\\x{:02x}", u32::from(c))),
            c => literal.push(c),
        }
    }
    literal.push(quote);
    literal
}
