//! `.airflowignore` files: which files and folders are left out.

use std::sync::Arc;

use fancy_regex::Regex;

use super::glob::{self, Translated};
use super::problem::Problem;
use super::python_regex;

/// The name of an ignore file, in any folder of a bundle.
pub(super) const FILE_NAME: &str = ".airflowignore";

/// `[core] dag_ignore_file_syntax`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreSyntax {
    /// As in `.gitignore` files.
    Glob,
    /// Python's regular expressions, searched for in paths from the bundle's folder.
    Regexp,
}

impl IgnoreSyntax {
    /// Reads the setting; Airflow takes an empty one for `glob` and refuses others.
    pub fn parse(setting: &str) -> Option<Self> {
        match setting {
            "glob" | "" => Some(Self::Glob),
            "regexp" => Some(Self::Regexp),
            _ => None,
        }
    }
}

/// The rules that hold in a folder: those of the folders above it, then its own.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules(Arc<Vec<Rule>>);

#[derive(Debug, Clone)]
struct Rule {
    regex: Regex,
    scope: Scope,
    ignores: bool,
    folders_only: bool,
}

/// Which part of a path a rule looks at.
#[derive(Debug, Clone)]
enum Scope {
    /// The path from the bundle's folder, as a regular expression does.
    Path,
    /// The name alone.
    Name,
    /// The path from the folder of the ignore file, which is given relative to the bundle, with a slash at its end.
    Below(Arc<str>),
}

impl Rules {
    /// These rules, and those of the ignore file in `folder` (relative to the bundle; empty for the bundle itself).
    pub(super) fn with(
        &self,
        file: &[u8],
        folder: &str,
        syntax: IgnoreSyntax,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut rules = self.0.as_ref().clone();
        let base: Arc<str> = if folder.is_empty() { "".into() } else { format!("{folder}/").into() };
        for (index, line) in lines(file).enumerate() {
            let pattern = String::from_utf8_lossy(line);
            let read = match std::str::from_utf8(line) {
                Ok(line) => read_rule(without_comment(line), &base, syntax),
                Err(_) => Err("it is not UTF-8".to_owned()),
            };
            match read {
                Ok(rule) => rules.extend(rule),
                Err(why) => problems.push(Problem::IgnoreLine {
                    path: format!("{base}{FILE_NAME}"),
                    line: index + 1,
                    pattern: without_comment(&pattern).to_owned(),
                    why,
                }),
            }
        }
        Self(Arc::new(rules))
    }

    /// Whether a file or folder is left out. `path` is relative to the bundle.
    pub(super) fn ignore(&self, path: &str, is_folder: bool) -> bool {
        let mut ignored = false;
        for rule in self.0.iter() {
            // What has this answer already need not be asked for it.
            if rule.ignores != ignored && rule.holds(path, is_folder) {
                ignored = rule.ignores;
            }
        }
        ignored
    }
}

impl Rule {
    fn holds(&self, path: &str, is_folder: bool) -> bool {
        let part = match &self.scope {
            Scope::Path => return self.finds(path),
            Scope::Name => path.rsplit('/').next().unwrap_or(path),
            Scope::Below(base) => path.strip_prefix(&**base).unwrap_or(path),
        };
        match (self.folders_only, is_folder) {
            (true, false) => false,
            (_, true) => self.finds(&format!("{part}/")),
            (_, false) => self.finds(part),
        }
    }

    /// A pattern that takes the engine too many steps finds nothing; Python would take its time, or not end.
    fn finds(&self, text: &str) -> bool {
        self.regex.is_match(text).unwrap_or(false)
    }
}

/// The lines as Python reads them in text mode: a carriage return ends one too.
fn lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(file);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            return rest.take();
        };
        let length = if text[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = Some(&text[end + length..]);
        Some(&text[..end])
    })
}

/// A comment begins at the first `#`, with the space before it; nothing escapes it.
fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(before, _)| before.trim_end_matches(is_python_space))
}

/// What Python's `\s` and `strip` take for space: the separators of ASCII, too.
pub(super) fn is_python_space(char: char) -> bool {
    char.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&char)
}

fn read_rule(pattern: &str, base: &Arc<str>, syntax: IgnoreSyntax) -> Result<Option<Rule>, String> {
    if pattern.is_empty() {
        return Ok(None);
    }
    if syntax == IgnoreSyntax::Regexp {
        let regex = python_regex::compile(pattern)?;
        return Ok(Some(Rule { regex, scope: Scope::Path, ignores: true, folders_only: false }));
    }
    if pattern.trim_matches(is_python_space) == "/" {
        return Err("a slash alone matches nothing".to_owned());
    }
    let Translated::Rule { regex, ignores } = glob::translate(pattern)? else { return Ok(None) };
    let is_relative = pattern.starts_with('/') || pattern.trim_end_matches('/').contains('/');
    let scope = if is_relative { Scope::Below(Arc::clone(base)) } else { Scope::Name };
    let folders_only = pattern.trim_start_matches('!').trim_end_matches(is_python_space).ends_with('/');
    Ok(Some(Rule { regex: python_regex::compile(&regex)?, scope, ignores, folders_only }))
}

#[cfg(test)]
mod tests {
    use super::{IgnoreSyntax, Problem, Rules, lines};

    fn read(syntax: IgnoreSyntax, file: &str) -> (Rules, Vec<String>) {
        let mut problems: Vec<Problem> = Vec::new();
        let rules = Rules::default().with(file.as_bytes(), "", syntax, &mut problems);
        (rules, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_last_rule_that_holds_decides() {
        let (rules, problems) = read(IgnoreSyntax::Glob, "*.py # all\n!b.py\n/b.py\n!b.py");
        assert!(problems.is_empty());
        assert!(rules.ignore("a.py", false));
        assert!(!rules.ignore("b.py", false));
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_hold() {
        let (rules, problems) = read(IgnoreSyntax::Regexp, "(\r\n\r\na.py\n");
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].starts_with(".airflowignore, line 1: the pattern \"(\" is skipped"),
            "{problems:?}"
        );
        assert!(rules.ignore("x/a_py", false));
    }

    #[test]
    fn every_kind_of_line_break_ends_a_line() {
        let found: Vec<&[u8]> = lines(b"a\r\nb\rc\n\nd").collect();
        assert_eq!(found, [b"a".as_slice(), b"b", b"c", b"", b"d"]);
    }
}
