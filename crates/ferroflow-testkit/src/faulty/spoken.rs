//! What statements are called, whatever their values are.

/// A transaction, as far as it was spoken.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    statements: Vec<String>,
    pub(super) is_open: bool,
}

/// What a statement does to its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Begin,
    Commit,
    Rollback,
    Work,
}

impl Spoken {
    /// The name of what is said now.
    pub(super) fn name(&mut self, text: &str) -> String {
        let name = without_values(text);
        match role(text) {
            Role::Begin => {
                *self = Self { is_open: true, ..Self::default() };
                name
            }
            Role::Commit => {
                let name = format!("{name} of: {}", self.statements.join("; "));
                *self = Self::default();
                name
            }
            Role::Rollback => {
                *self = Self::default();
                name
            }
            Role::Work => {
                if self.is_open && self.statements.last() != Some(&name) {
                    self.statements.push(name.clone());
                }
                name
            }
        }
    }
}

pub(super) fn role(text: &str) -> Role {
    let word = text.trim_start().split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or("");
    match word.to_ascii_uppercase().as_str() {
        "BEGIN" | "START" => Role::Begin,
        "COMMIT" => Role::Commit,
        "ROLLBACK" => Role::Rollback,
        _ => Role::Work,
    }
}

/// The text in one line, in which a list is as long as a single value.
fn without_values(text: &str) -> String {
    let mut bare = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '$' => {
                while letters.next_if(char::is_ascii_digit).is_some() {}
                bare.push('?');
            }
            letter if letter.is_whitespace() => {
                if !bare.ends_with(' ') {
                    bare.push(' ');
                }
            }
            letter => bare.push(letter),
        }
    }
    for (list, single) in [("?, ?", "?"), ("(?), (?)", "(?)")] {
        while bare.contains(list) {
            bare = bare.replace(list, single);
        }
    }
    bare.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length_are_called_the_same() {
        assert_eq!(
            without_values("SELECT a\n  FROM b WHERE c IN ($1, $2, $13)"),
            "SELECT a FROM b WHERE c IN (?)"
        );
        assert_eq!(without_values("INSERT INTO a VALUES (?, ?), (?, ?)"), "INSERT INTO a VALUES (?)");
    }

    #[test]
    fn a_commit_is_called_by_what_it_commits() {
        let mut spoken = Spoken::default();
        for text in ["BEGIN", "UPDATE a SET b = $1", "UPDATE a SET b = $1", "DELETE FROM c"] {
            spoken.name(text);
        }
        assert_eq!(spoken.name("COMMIT"), "COMMIT of: UPDATE a SET b = ?; DELETE FROM c");
        assert_eq!(spoken.name("COMMIT"), "COMMIT of: ");
    }
}
