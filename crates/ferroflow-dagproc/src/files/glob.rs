//! Patterns of `.gitignore` files, as the library `pathspec` reads them: translated to Python's regular expressions.
//!
//! `pathspec` matches differently from Git and from the crates that follow Git (a character class may match a slash,
//! say), and what it matches is the contract.

/// What one pattern becomes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Translated {
    /// It matches nothing and changes nothing.
    Nothing,
    /// A path that the regular expression finds itself in is ignored, or taken back if `ignores` is false.
    Rule {
        /// In Python's syntax.
        regex: String,
        /// False for a pattern that begins with `!`.
        ignores: bool,
    },
}

/// Translates one line, already without its comment.
pub(super) fn translate(line: &str) -> Result<Translated, String> {
    let pattern =
        if line.ends_with("\\ ") { line } else { line.trim_end_matches(super::ignore::is_python_space) };
    if pattern.is_empty() || pattern.starts_with('#') || pattern == "/" {
        return Ok(Translated::Nothing);
    }
    let (ignores, pattern) = pattern.strip_prefix('!').map_or((true, pattern), |rest| (false, rest));
    let segments: Vec<&str> = pattern.split('/').collect();
    let is_folder = segments.last().is_some_and(|last| last.is_empty());
    let segments = normalize(segments)?;
    let regex = match (segments.as_slice(), is_folder) {
        (["**"], true) | (["**", "*", "**"], _) => Some("/".to_owned()),
        (["**"] | ["**", "*"], _) => Some(".".to_owned()),
        (segments, _) => translate_segments(segments)?,
    };
    Ok(regex.map_or(Translated::Nothing, |regex| Translated::Rule { regex, ignores }))
}

/// Makes explicit what a leading slash, no slash and a trailing slash mean.
fn normalize(mut segments: Vec<&str>) -> Result<Vec<&str>, String> {
    if segments[0].is_empty() {
        segments.remove(0);
    } else if (segments.len() == 1 || (segments.len() == 2 && segments[1].is_empty())) && segments[0] != "**"
    {
        segments.insert(0, "**");
    }
    let Some(last) = segments.last_mut() else { return Err("nothing is left of it".to_owned()) };
    if last.is_empty() {
        *last = "**";
    }
    segments.dedup_by(|next, previous| *next == "**" && *previous == "**");
    Ok(segments)
}

/// The regular expression, or none if a character class has no end: `pathspec` drops such a pattern, as Git does.
fn translate_segments(segments: &[&str]) -> Result<Option<String>, String> {
    let mut regex = String::new();
    let mut needs_slash = false;
    let end = segments.len() - 1;
    for (index, segment) in segments.iter().enumerate() {
        match (*segment, index) {
            ("**", 0) => regex.push_str("^(?:.+/)?"),
            ("**", index) if index < end => {
                regex.push_str("(?:/.+)?");
                needs_slash = true;
            }
            ("**", _) => regex.push('/'),
            (segment, index) => {
                regex.push_str(if index == 0 { "^" } else { "" });
                regex.push_str(if needs_slash { "/" } else { "" });
                match segment {
                    "*" => regex.push_str("[^/]+"),
                    segment => match translate_segment(segment)? {
                        Some(translated) => regex.push_str(&translated),
                        None => return Ok(None),
                    },
                }
                regex.push_str(if index == end { "(?:/|$)" } else { "" });
                needs_slash = true;
            }
        }
    }
    Ok(Some(regex))
}

/// What stands between two slashes; none if a character class has no end.
fn translate_segment(segment: &str) -> Result<Option<String>, String> {
    let chars: Vec<char> = segment.chars().collect();
    let mut regex = String::new();
    let mut at = 0;
    while let Some(&char) = chars.get(at) {
        at += 1;
        match char {
            '\\' => {
                let Some(&escaped) = chars.get(at) else {
                    return Err("a backslash at its end escapes nothing".to_owned());
                };
                push_literal(&mut regex, escaped);
                at += 1;
            }
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            '[' => match class_end(&chars, at) {
                Some(end) => {
                    push_class(&mut regex, &chars[at..end]);
                    at = end;
                }
                None => return Ok(None),
            },
            char => push_literal(&mut regex, char),
        }
    }
    Ok(Some(regex))
}

/// One past the bracket that closes a class whose inside begins at `start`. A first `]` belongs to the class.
fn class_end(chars: &[char], start: usize) -> Option<usize> {
    let mut at = start;
    if matches!(chars.get(at), Some('!' | '^')) {
        at += 1;
    }
    if chars.get(at) == Some(&']') {
        at += 1;
    }
    let length = chars.get(at..)?.iter().position(|&char| char == ']')?;
    Some(at + length + 1)
}

/// A class with its closing bracket: a backslash is an ordinary character in it.
fn push_class(regex: &mut String, class: &[char]) {
    regex.push('[');
    let inside = match class {
        ['!' | '^', inside @ ..] => {
            regex.push('^');
            inside
        }
        inside => inside,
    };
    for &char in inside {
        regex.push_str(if char == '\\' { "\\" } else { "" });
        regex.push(char);
    }
}

fn push_literal(regex: &mut String, char: char) {
    if char.is_ascii() && !char.is_ascii_alphanumeric() {
        regex.push('\\');
    }
    regex.push(char);
}

#[cfg(test)]
mod tests {
    use super::{Translated, translate};

    #[track_caller]
    fn assert_regex(pattern: &str, expected: &str) {
        let expected = Translated::Rule { regex: expected.to_owned(), ignores: true };
        assert_eq!(translate(pattern), Ok(expected), "{pattern}");
    }

    #[test]
    fn slashes_say_where_a_pattern_holds() {
        assert_regex("a", "^(?:.+/)?a(?:/|$)");
        assert_regex("/a", "^a(?:/|$)");
        assert_regex("a/", "^(?:.+/)?a/");
        assert_regex("a/b", "^a/b(?:/|$)");
        assert_regex("a/**/b", "^a(?:/.+)?/b(?:/|$)");
        assert_regex("**/**/b", "^(?:.+/)?b(?:/|$)");
        assert_regex("*", ".");
        assert_regex("*/", "/");
    }

    #[test]
    fn a_class_without_an_end_is_no_pattern_and_a_lonely_backslash_is_an_error() {
        assert_eq!(translate("a[b"), Ok(Translated::Nothing));
        assert_eq!(translate("a[]"), Ok(Translated::Nothing));
        assert_regex("[]!a\\]", "^(?:.+/)?[]!a\\\\](?:/|$)");
        assert!(translate("a\\").is_err());
        assert!(translate("!").is_err());
    }
}
