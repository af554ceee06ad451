//! Commands that print a value: split as a shell would, run without one.

use std::process::{Command, Stdio};

use crate::environment::Environment;

/// What the command wrote to its standard output, unchanged but for bytes that are not UTF-8, which are dropped.
///
/// An error is the description of what went wrong.
pub(crate) fn run(command: &str, environment: &Environment) -> Result<String, String> {
    let words = split(command)?;
    let [program, arguments @ ..] = words.as_slice() else {
        return Err("it is empty".to_owned());
    };
    let output = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment.vars())
        .current_dir(environment.current_dir())
        // A command may ask its user for a passphrase.
        .stdin(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(valid_text(&output.stdout));
    }
    match valid_text(&output.stderr).trim() {
        "" => Err(output.status.to_string()),
        complaint => Err(format!("{}, {complaint}", output.status)),
    }
}

fn valid_text(bytes: &[u8]) -> String {
    bytes.utf8_chunks().map(|chunk| chunk.valid()).collect()
}

/// Splits like Python's `shlex.split`: quotes and backslashes as in a POSIX shell, nothing else is special.
fn split(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\'' => quoted(&mut characters, word.get_or_insert_default())?,
            '"' => double_quoted(&mut characters, word.get_or_insert_default())?,
            '\\' => {
                word.get_or_insert_default().push(characters.next().ok_or("nothing follows the backslash")?);
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

const NO_CLOSING_QUOTATION: &str = "no closing quotation mark";

fn quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    for c in characters {
        match c {
            '\'' => return Ok(()),
            c => word.push(c),
        }
    }
    Err(NO_CLOSING_QUOTATION.to_owned())
}

fn double_quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    while let Some(c) = characters.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match characters.next().ok_or(NO_CLOSING_QUOTATION)? {
                escaped @ ('"' | '\\') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            c => word.push(c),
        }
    }
    Err(NO_CLOSING_QUOTATION.to_owned())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("a  b\tc" => vec!["a", "b", "c"])]
    #[test_case("" => Vec::<String>::new())]
    #[test_case("a '' \"\"" => vec!["a", "", ""])]
    #[test_case(r#"a\ b "c\"d\e" 'f\g'h"# => vec!["a b", r#"c"d\e"#, r"f\gh"])]
    #[test_case("a | b; $C # d" => vec!["a", "|", "b;", "$C", "#", "d"])]
    fn splits(command: &str) -> Vec<String> {
        split(command).unwrap()
    }

    #[test_case("a 'b", NO_CLOSING_QUOTATION)]
    #[test_case("a \"b", NO_CLOSING_QUOTATION)]
    #[test_case("a \"b\\", NO_CLOSING_QUOTATION)]
    #[test_case("a \\", "nothing follows the backslash")]
    fn refuses(command: &str, problem: &str) {
        assert_eq!(split(command), Err(problem.to_owned()));
    }

    #[test]
    fn runs_in_the_given_environment_only() {
        let environment = Environment::empty("/").with("PATH", "/usr/bin:/bin").with("SEEN", "yes");
        let output = run("sh -c 'pwd; printf \"%s-%s\" \"$SEEN\" \"$HOME\"'", &environment);
        assert_eq!(output, Ok("/\nyes-".to_owned()));
    }

    #[test]
    fn failure_tells_status_and_complaint() {
        let environment = Environment::empty("/").with("PATH", "/usr/bin:/bin");
        assert_eq!(run("sh -c 'echo no >&2; exit 3'", &environment), Err("exit status: 3, no".to_owned()));
        assert_eq!(run("false", &environment), Err("exit status: 1".to_owned()));
        assert_eq!(run(" ", &environment), Err("it is empty".to_owned()));
    }
}
