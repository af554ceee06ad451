//! What a backslash means in Python's regular expressions.

/// What was escaped.
pub(super) enum Escape {
    /// One character.
    Char(char),
    /// A class of characters, for the engine.
    Class(&'static str),
    /// What a group matched before.
    Group(u32),
    /// A place between characters, for the engine.
    Place(&'static str),
}

/// Reads what follows a backslash, and says where it ends.
pub(super) fn read(chars: &[char], at: usize, in_class: bool) -> Result<(Escape, usize), String> {
    let Some(&char) = chars.get(at) else { return Err("bad escape (end of pattern)".to_owned()) };
    let next = at + 1;
    let escape = match char {
        'd' => Escape::Class(r"\d"),
        'D' => Escape::Class(r"\D"),
        // Python counts the separators of ASCII among the spaces, and no combining marks among the letters.
        's' => Escape::Class(r"[\s\x1c-\x1f]"),
        'S' => Escape::Class(r"[^\s\x1c-\x1f]"),
        'w' => Escape::Class(r"[\p{L}\p{N}_]"),
        'W' => Escape::Class(r"[^\p{L}\p{N}_]"),
        'b' if in_class => Escape::Char('\u{8}'),
        'A' if !in_class => Escape::Place(r"\A"),
        'Z' if !in_class => Escape::Place(r"\z"),
        'b' if !in_class => Escape::Place(r"\b"),
        'B' if !in_class => Escape::Place(r"\B"),
        'a' => Escape::Char('\u{7}'),
        'f' => Escape::Char('\u{c}'),
        'n' => Escape::Char('\n'),
        'r' => Escape::Char('\r'),
        't' => Escape::Char('\t'),
        'v' => Escape::Char('\u{b}'),
        'x' => return hexadecimal(chars, next, 2),
        'u' => return hexadecimal(chars, next, 4),
        'U' => return hexadecimal(chars, next, 8),
        '0'..='9' => return number(chars, at, in_class),
        char if char.is_ascii_alphabetic() => return Err(format!("bad escape \\{char}")),
        char => Escape::Char(char),
    };
    Ok((escape, next))
}

/// The same class, of ASCII alone.
pub(super) fn in_ascii(class: &'static str) -> &'static str {
    match class {
        r"\d" => "[0-9]",
        r"\D" => "[^0-9]",
        r"[\s\x1c-\x1f]" => r"[ \t-\r]",
        r"[^\s\x1c-\x1f]" => r"[^ \t-\r]",
        r"[\p{L}\p{N}_]" => "[A-Za-z0-9_]",
        r"[^\p{L}\p{N}_]" => "[^A-Za-z0-9_]",
        other => other,
    }
}

fn hexadecimal(chars: &[char], at: usize, digits: usize) -> Result<(Escape, usize), String> {
    let char = chars
        .get(at..at + digits)
        .filter(|text| text.iter().all(char::is_ascii_hexdigit))
        .and_then(|text| u32::from_str_radix(&text.iter().collect::<String>(), 16).ok())
        .and_then(char::from_u32)
        .ok_or_else(|| "incomplete escape".to_owned())?;
    Ok((Escape::Char(char), at + digits))
}

/// A character by its octal number, or a group: three octal digits and a leading zero make the former.
fn number(chars: &[char], at: usize, in_class: bool) -> Result<(Escape, usize), String> {
    let octal = chars[at..].iter().take(3).take_while(|char| ('0'..='7').contains(*char)).count();
    if octal == 3 || chars[at] == '0' || (in_class && octal > 0) {
        let text: String = chars[at..at + octal].iter().collect();
        let value = u32::from_str_radix(&text, 8).ok().filter(|value| *value <= 0o377);
        let char =
            value.and_then(char::from_u32).ok_or_else(|| format!("octal escape \\{text} out of range"))?;
        return Ok((Escape::Char(char), at + octal));
    }
    if in_class {
        return Err(format!("bad escape \\{}", chars[at]));
    }
    let digits = chars[at..].iter().take(2).take_while(|char| char.is_ascii_digit()).count();
    let text: String = chars[at..at + digits].iter().collect();
    let group = text.parse().map_err(|_| format!("bad escape \\{text}"))?;
    Ok((Escape::Group(group), at + digits))
}
