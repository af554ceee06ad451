//! Regular expressions in Python's syntax, for an engine that spells some things differently.
//!
//! What Python refuses is refused here, and what both accept with another meaning is rewritten: `$` before a last line
//! break, `\s` and `\w`, braces that are no repetition, and everything in character classes.

mod class;
mod escape;

use fancy_regex::Regex;

use escape::Escape;

/// Compiles what `re.compile` would; the error says what is wrong with it.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = Translator::new(pattern).translate()?;
    Regex::new(&translated).map_err(|error| error.to_string())
}

/// What a repetition would repeat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Item,
    Repetition,
}

/// A group that has not ended.
struct Open {
    /// Where it begins in `out`.
    start: usize,
    looks_around: bool,
    /// What `ascii` was before it.
    ascii: bool,
}

struct Translator {
    chars: Vec<char>,
    at: usize,
    out: String,
    last: Last,
    /// `$` ends every line, not only the last.
    by_line: bool,
    /// Only letters, digits and spaces of ASCII are such.
    ascii: bool,
    /// The whole pattern says that letters are those of all languages, which they are anyway.
    unicode: bool,
    open: Vec<Open>,
    groups: u32,
    /// The last group that a condition asks for.
    asked: u32,
}

impl Translator {
    fn new(pattern: &str) -> Self {
        let chars = pattern.chars().collect();
        Self {
            chars,
            at: 0,
            out: String::new(),
            last: Last::Nothing,
            by_line: false,
            ascii: false,
            unicode: false,
            open: Vec::new(),
            groups: 0,
            asked: 0,
        }
    }

    fn translate(mut self) -> Result<String, String> {
        while let Some(char) = self.next() {
            match char {
                '\\' => self.escape()?,
                '[' => {
                    let (class, end) = class::translate(&self.chars, self.at)?;
                    self.at = end;
                    self.push_item(&class);
                }
                '(' => self.group()?,
                ')' => self.close(),
                '|' | '^' => {
                    self.out.push(char);
                    self.last = Last::Nothing;
                }
                '$' => {
                    self.out.push_str(if self.by_line { "$" } else { r"(?:\n?\z)" });
                    self.last = Last::Nothing;
                }
                '*' | '+' | '?' => self.repetition(&char.to_string())?,
                '{' => self.braces()?,
                '.' => self.push_item("."),
                // Free-spacing mode drops it; elsewhere it stands for itself.
                char if char.is_whitespace() => self.push_item(&char.to_string()),
                char => self.push_item(&literal(char)),
            }
        }
        if self.asked > self.groups {
            return Err(format!("invalid group reference {}", self.asked));
        }
        Ok(self.out)
    }

    /// The engine repeats no group that looks around, unless it is one of two choices; the other never matches.
    fn close(&mut self) {
        self.out.push(')');
        self.last = Last::Item;
        let is_repeated = self.chars.get(self.at).is_some_and(|char| "*+?{".contains(*char));
        let Some(Open { start, looks_around, ascii }) = self.open.pop() else { return };
        self.ascii = ascii;
        if looks_around && is_repeated {
            self.out.insert_str(start, "(?:");
            self.out.push_str(r"|[^\s\S])");
        }
    }

    fn next(&mut self) -> Option<char> {
        let char = self.chars.get(self.at).copied();
        self.at += usize::from(char.is_some());
        char
    }

    /// Takes `text` if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let comes =
            text.chars().enumerate().all(|(index, char)| self.chars.get(self.at + index) == Some(&char));
        self.at += if comes { text.chars().count() } else { 0 };
        comes
    }

    fn push_item(&mut self, item: &str) {
        self.out.push_str(item);
        self.last = Last::Item;
    }

    fn escape(&mut self) -> Result<(), String> {
        let (escape, end) = escape::read(&self.chars, self.at, false)?;
        self.at = end;
        match escape {
            Escape::Char(char) => self.push_item(&literal(char)),
            Escape::Class(class) => self.push_item(if self.ascii { escape::in_ascii(class) } else { class }),
            Escape::Group(number) if number > self.groups => {
                return Err(format!("invalid group reference {number}"));
            }
            Escape::Group(number) => self.push_item(&format!("(?:\\{number})")),
            Escape::Place(place) => {
                self.out.push_str(place);
                self.last = Last::Nothing;
            }
        }
        Ok(())
    }

    /// A repetition, with the mark that makes it lazy or possessive.
    fn repetition(&mut self, sign: &str) -> Result<(), String> {
        match self.last {
            Last::Nothing => return Err("nothing to repeat".to_owned()),
            Last::Repetition => return Err("multiple repeat".to_owned()),
            Last::Item => {}
        }
        self.out.push_str(sign);
        for mark in ["?", "+"] {
            if self.take(mark) {
                self.out.push_str(mark);
                break;
            }
        }
        self.last = Last::Repetition;
        Ok(())
    }

    /// `{2,3}` is a repetition, `{,3}` is one from zero; any other brace stands for itself.
    fn braces(&mut self) -> Result<(), String> {
        let rest = &self.chars[self.at..];
        let inside: String = rest.iter().take_while(|&&char| char != '}').collect();
        let is_closed = rest.len() > inside.chars().count();
        let (low, high) =
            inside.split_once(',').map_or((inside.as_str(), None), |(low, high)| (low, Some(high)));
        let is_number = |text: &str| text.chars().all(|char| char.is_ascii_digit());
        if !is_closed || !is_number(low) || !high.is_none_or(is_number) || inside.is_empty() {
            self.push_item(r"\{");
            return Ok(());
        }
        self.at += inside.chars().count() + 1;
        let low = if low.is_empty() { "0" } else { low };
        let count = |text: &str| text.parse::<u64>().ok();
        if high.and_then(count).is_some_and(|high| count(low).is_none_or(|low| low > high)) {
            return Err("min repeat greater than max repeat".to_owned());
        }
        self.repetition(&high.map_or_else(|| format!("{{{low}}}"), |high| format!("{{{low},{high}}}")))
    }

    /// What follows an opening parenthesis, up to where the group's own pattern begins.
    fn group(&mut self) -> Result<(), String> {
        let start = self.out.len();
        let mut looks_around = false;
        if !self.take("?") {
            self.groups += 1;
            self.out.push('(');
        } else if self.take("P=") {
            let name = self.until(')')?;
            self.push_item(&format!("(?P={name})"));
            return Ok(());
        } else if self.take("P<") {
            let name = self.until('>')?;
            if self.out.contains(&format!("(?P<{name}>")) {
                return Err(format!("redefinition of group name {name:?}"));
            }
            self.groups += 1;
            self.out.extend(["(?P<", &name, ">"]);
        } else if self.take("(") {
            let condition = self.until(')')?;
            let by_number = condition.chars().all(|char| char.is_ascii_digit());
            self.asked = self.asked.max(condition.parse().unwrap_or(0));
            let condition = if by_number { condition } else { format!("<{condition}>") };
            self.out.extend(["(?(", &condition, ")"]);
        } else if let Some(kind) = [":", "=", "!", "<=", "<!", ">"].into_iter().find(|kind| self.take(kind)) {
            looks_around = kind.contains(['=', '!']);
            self.out.extend(["(?", kind]);
        } else {
            return self.flags();
        }
        self.open.push(Open { start, looks_around, ascii: self.ascii });
        self.last = Last::Nothing;
        Ok(())
    }

    /// `(?i)` at the very beginning, or `(?i-m:` for one group.
    fn flags(&mut self) -> Result<(), String> {
        const INCOMPATIBLE: &str = "ASCII and UNICODE flags are incompatible";
        let start = self.at;
        while self.chars.get(self.at).is_some_and(|char| "aimsux-".contains(*char)) {
            self.at += 1;
        }
        let flags: String =
            self.chars[start..self.at].iter().filter(|&&char| !matches!(char, 'a' | 'u')).collect();
        let [ascii, unicode] = ['a', 'u'].map(|flag| self.chars[start..self.at].contains(&flag));
        if ascii && unicode {
            return Err(INCOMPATIBLE.to_owned());
        }
        let end = self.next();
        let is_empty = self.at == start + 1;
        self.by_line |= flags.split('-').next().is_some_and(|on| on.contains('m'));
        match end {
            Some(':') if !is_empty => {
                self.open.push(Open { start: self.out.len(), looks_around: false, ascii: self.ascii });
                self.ascii = (self.ascii || ascii) && !unicode;
                self.out.extend(["(?", &flags, ":"]);
                self.last = Last::Nothing;
            }
            Some(')') if !is_empty && !flags.contains('-') => {
                let before = self.out.trim_end_matches(|char: char| "(?imsx)".contains(char));
                if !before.is_empty() || self.last != Last::Nothing {
                    return Err("global flags not at the start of the expression".to_owned());
                }
                self.ascii |= ascii;
                self.unicode |= unicode;
                if self.ascii && self.unicode {
                    return Err(INCOMPATIBLE.to_owned());
                }
                if !flags.is_empty() {
                    self.out.extend(["(?", &flags, ")"]);
                }
            }
            _ => return Err("unknown extension after (?".to_owned()),
        }
        Ok(())
    }

    fn until(&mut self, end: char) -> Result<String, String> {
        let name: String = self.chars[self.at..].iter().take_while(|&&char| char != end).collect();
        self.at += name.chars().count();
        if self.next().is_none()
            || name.is_empty()
            || !name.chars().all(|char| char.is_alphanumeric() || char == '_')
        {
            return Err(format!("bad group name {name:?}"));
        }
        Ok(name)
    }
}

/// One character that stands for itself, wherever it is written.
fn literal(char: char) -> String {
    if char.is_alphanumeric() || char == '_' {
        char.to_string()
    } else {
        format!("\\x{{{:X}}}", u32::from(char))
    }
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[track_caller]
    fn found(pattern: &str, text: &str) -> bool {
        compile(pattern).unwrap().is_match(text).unwrap()
    }

    #[test]
    fn what_both_know_with_another_meaning_is_pythons() {
        assert!(found("a$", "a\n"));
        assert!(!found(r"a\Z", "a\n"));
        assert!(found("a{", "a{"));
        assert!(found("^a{,2}b$", "aab"));
        assert!(found("^[[a&&b]$", "&"));
        assert!(found(r"\s", "\u{1f}"));
        assert!(found(r"(?P<x>a)(?P=x)", "aa"));
        assert!(found(r"(a)\1", "aa"));
        assert!(found("(?i)A", "a"));
        assert!(found(r"(?a:a)\w$", "aé"));
        assert!(!found(r"(?a:\w)$", "é"));
        assert!(found(r"(?a)(?u:\w)$", "é"));
        assert!(found("a++b", "aab"));
        assert!(found("(?<!x)a", "ba"));
        assert!(!found("(?<!x)a", "xa"));
        assert!(found(r"[\d\]x-]", "-"));
        assert!(found(r"\x41\u0042\103", "ABC"));
    }

    #[test]
    fn what_python_refuses_is_refused() {
        for pattern in [
            "*",
            "a**",
            "^*",
            "(",
            ")",
            "[a",
            "[z-a]",
            r"\p{L}",
            r"\z",
            r"\K",
            "(?<n>a)",
            "a(?i)b",
            "a{2}{3}",
            "\\",
            r"[\d-z]",
            r"\1",
            "(?L)a",
            "(?u)(?a)b",
            "(?a)(?u)b",
            "(?ua:b)",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
