//! The dialect of `airflow.cfg`: that of Python's `ConfigParser`, with option names that keep their case.
//!
//! Full-line comments start with `#` or `;`, there are no inline comments, a more deeply indented line continues
//! the value above it (blank lines between included), and `[DEFAULT]` feeds every other section of the file.

use std::collections::HashSet;

use indexmap::IndexMap;

use crate::error::LineProblem;

const DEFAULT_SECTION: &str = "DEFAULT";

/// The parsed file. Values are as written: not interpolated, variables not expanded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ini {
    sections: IndexMap<String, Entries>,
    defaults: Entries,
}

type Entries = IndexMap<String, Entry>;

/// One option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) line: usize,
}

impl Ini {
    /// Parses a whole file; every wrong line is reported.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<LineProblem>> {
        let mut parser = Parser::default();
        if text.starts_with('\u{feff}') {
            parser.problem(
                1,
                "the file starts with a byte order mark; save it as UTF-8 without one".to_owned(),
            );
        } else {
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            for (index, line) in text.split('\n').enumerate() {
                parser.line(index + 1, line);
            }
        }
        if parser.problems.is_empty() { Ok(parser.finish()) } else { Err(parser.problems) }
    }

    /// Names of the sections, `[DEFAULT]` left out.
    pub(crate) fn sections(&self) -> impl Iterator<Item = &str> {
        self.sections.keys().map(String::as_str)
    }

    /// Options of a section, then those that `[DEFAULT]` adds.
    pub(crate) fn options(&self, section: &str) -> Vec<&str> {
        let Some(own) = self.sections.get(section) else {
            return Vec::new();
        };
        let inherited = self.defaults.keys().filter(|key| !own.contains_key(*key));
        own.keys().chain(inherited).map(String::as_str).collect()
    }

    /// An option of a section that the file has, or of `[DEFAULT]`.
    pub(crate) fn get(&self, section: &str, key: &str) -> Option<&Entry> {
        let own = self.sections.get(section)?;
        own.get(key).or_else(|| self.defaults.get(key))
    }
}

/// What Python's `str.strip` removes.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

#[derive(Default)]
struct Parser {
    ini: Ini,
    section: Option<String>,
    option: Option<String>,
    option_indent: usize,
    seen: HashSet<(String, Option<String>)>,
    headerless: bool,
    problems: Vec<LineProblem>,
}

impl Parser {
    fn line(&mut self, number: usize, line: &str) {
        let text = line.trim_matches(is_space);
        if text.starts_with(['#', ';']) {
            return;
        }
        if text.is_empty() {
            self.continue_value("");
            return;
        }
        let indent = line.chars().take_while(|c| is_space(*c)).count();
        if self.option.is_some() && indent > self.option_indent {
            self.continue_value(text);
            return;
        }
        self.option_indent = indent;
        if let Some(name) = section_name(text) {
            self.start_section(number, name);
        } else if self.section.is_none() {
            self.line_before_any_section(number);
        } else {
            self.start_option(number, text);
        }
    }

    fn continue_value(&mut self, text: &str) {
        if let Some(option) = self.option.clone()
            && let Some(entry) = self.entries().and_then(|entries| entries.get_mut(&option))
        {
            entry.text.push('\n');
            entry.text.push_str(text);
        }
    }

    fn start_section(&mut self, number: usize, name: &str) {
        if name != DEFAULT_SECTION {
            if !self.seen.insert((name.to_owned(), None)) {
                self.problem(number, format!("the section [{name}] is there a second time; merge the two"));
            }
            self.ini.sections.entry(name.to_owned()).or_default();
        }
        self.section = Some(name.to_owned());
        self.option = None;
    }

    // These messages do not show the line, which may hold a secret.
    fn line_before_any_section(&mut self, number: usize) {
        // Every line up to the first header would be wrong in the same way: once is enough.
        if !self.headerless {
            self.headerless = true;
            self.problem(
                number,
                "no section has begun yet; put a line like [core] above this one".to_owned(),
            );
        }
    }

    fn start_option(&mut self, number: usize, text: &str) {
        let section = self.section.clone().unwrap_or_default();
        let Some((key, value)) = text.split_once(['=', ':']) else {
            self.problem(
                number,
                "neither `key = value` nor a [section]; indent it if it continues a value".to_owned(),
            );
            return;
        };
        let key = key.trim_end_matches(is_space).to_owned();
        if key.is_empty() {
            self.problem(number, "there is no option name before the delimiter".to_owned());
            return;
        }
        if !self.seen.insert((section.clone(), Some(key.clone()))) {
            self.problem(number, format!("{key} is in [{section}] a second time; remove one of the two"));
        }
        let entry = Entry { text: value.trim_matches(is_space).to_owned(), line: number };
        if let Some(entries) = self.entries() {
            entries.insert(key.clone(), entry);
        }
        self.option = Some(key);
    }

    fn entries(&mut self) -> Option<&mut Entries> {
        match self.section.as_deref()? {
            DEFAULT_SECTION => Some(&mut self.ini.defaults),
            section => self.ini.sections.get_mut(section),
        }
    }

    fn problem(&mut self, line: usize, problem: String) {
        self.problems.push(LineProblem { line, problem });
    }

    fn finish(mut self) -> Ini {
        let sections = self.ini.sections.values_mut().chain(std::iter::once(&mut self.ini.defaults));
        for entry in sections.flat_map(IndexMap::values_mut) {
            entry.text.truncate(entry.text.trim_end_matches(is_space).len());
        }
        self.ini
    }
}

/// The name in `[name]`; what follows the last bracket of the line is ignored.
fn section_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix('[')?;
    let end = name.rfind(']')?;
    (end > 0).then(|| &name[..end])
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn problems(text: &str) -> Vec<String> {
        Ini::parse(text).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn keeps_the_line_of_every_option() {
        let ini = Ini::parse("# head\n[a]\nx = 1\n\n  2\n# gone\n  3\n\ny : 4\n").unwrap();
        assert_eq!(ini.get("a", "x"), Some(&Entry { text: "1\n\n2\n3".to_owned(), line: 3 }));
        assert_eq!(ini.get("a", "y"), Some(&Entry { text: "4".to_owned(), line: 9 }));
    }

    #[test]
    fn default_section_feeds_the_others() {
        let ini = Ini::parse("[DEFAULT]\nx = 1\n[a]\ny = 2\n").unwrap();
        assert_eq!(ini.sections().collect::<Vec<_>>(), ["a"]);
        assert_eq!(ini.options("a"), ["y", "x"]);
        assert_eq!(ini.get("a", "x").unwrap().text, "1");
        assert_eq!(ini.get("b", "x"), None);
    }

    #[test]
    fn every_wrong_line_is_reported() {
        assert_eq!(
            problems("[a]\nx = 1\nnonsense\nx = 2\n= 3\n[a]\n"),
            [
                "3: neither `key = value` nor a [section]; indent it if it continues a value",
                "4: x is in [a] a second time; remove one of the two",
                "5: there is no option name before the delimiter",
                "6: the section [a] is there a second time; merge the two",
            ]
        );
    }

    #[test_case("x = 1\ny = 2\n", "1: no section has begun yet; put a line like [core] above this one")]
    #[test_case("\u{feff}[a]\n", "1: the file starts with a byte order mark; save it as UTF-8 without one")]
    #[test_case("\0\u{1}\u{7f}ELF", "1: no section has begun yet; put a line like [core] above this one")]
    fn says_what_to_do(text: &str, expected: &str) {
        assert_eq!(problems(text), [expected]);
    }

    #[test_case("[a]" => Some("a"))]
    #[test_case("[a] # [b]" => Some("a] # [b"); "the last bracket ends the name")]
    #[test_case("[a] b" => Some("a"))]
    #[test_case("[]" => None)]
    #[test_case("[a" => None)]
    fn section_headers(text: &str) -> Option<&str> {
        section_name(text)
    }
}
