//! What the columns of a database can hold.
//!
//! SQLite takes any text. The others refuse what is too long, with words that do not name the column; so it is named
//! here, before the database is asked.

use std::borrow::Cow;

use ferroflow_db::{Dialect, Json};
use ferroflow_model::stored_dag::ParsedDag;

use super::StoreSettings;

/// How many bytes a `TEXT` of MySQL and MariaDB holds.
const MYSQL_TEXT: usize = 65_535;

/// The columns of a database, as far as they refuse texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    dialect: Dialect,
    /// Whether the document is kept as bytes, which are what they are.
    compressed: bool,
}

impl Columns {
    pub(super) fn of(dialect: Dialect, settings: &StoreSettings) -> Self {
        Self { dialect, compressed: settings.compress_serialized_dags }
    }

    /// Says which value of a DAG does not fit, and by how much.
    pub(super) fn take(self, document: &Json, dag: &ParsedDag) -> Result<(), String> {
        if self.dialect == Dialect::Sqlite {
            return Ok(());
        }
        if self.dialect == Dialect::Postgres && !self.compressed && has_null_character(document.text()) {
            let what = "a text in it has the character U+0000, which PostgreSQL cannot hold; take it out";
            return Err(what.to_owned());
        }
        let too_long = texts(dag).into_iter().find(|(_, text, most)| text.chars().count() > *most);
        if let Some((what, text, most)) = too_long {
            let length = text.chars().count();
            return Err(format!("its {what} has {length} characters, and the database takes {most} at most"));
        }
        let description = dag.dag.description.as_deref().unwrap_or_default().len();
        if self.dialect != Dialect::Postgres && description > MYSQL_TEXT {
            return Err(format!(
                "its description has {description} bytes, and the database takes {MYSQL_TEXT} at most"
            ));
        }
        Ok(())
    }
}

/// A message in a form that the database takes: it must not be lost because of its length, or of one character. Of a
/// long one the middle goes; the cause is at its end.
pub(super) fn fitting(dialect: Dialect, text: &str) -> Cow<'_, str> {
    const LEFT_OUT: &str = "\n[the middle is left out: the database takes no text as long as this]\n";
    match dialect {
        Dialect::Postgres if text.contains('\0') => text.replace('\0', "\\x00").into(),
        Dialect::MySql | Dialect::MariaDb if text.len() > MYSQL_TEXT => {
            let start = &text[..text.floor_char_boundary(MYSQL_TEXT / 4)];
            let rest = MYSQL_TEXT - start.len() - LEFT_OUT.len();
            let end = &text[text.ceil_char_boundary(text.len() - rest)..];
            format!("{start}{LEFT_OUT}{end}").into()
        }
        _ => text.into(),
    }
}

/// What stands in columns of a limited length, and how many characters each takes.
fn texts(dag: &ParsedDag) -> Vec<(&'static str, Cow<'_, str>, usize)> {
    let parsed = &dag.dag;
    let given = |text: &'_ Option<Box<str>>| Cow::from(text.as_deref().unwrap_or_default().to_owned());
    let mut texts = vec![
        ("dag_id", Cow::from(&*parsed.dag_id), 250),
        ("file's path", given(&parsed.fileloc), 2000),
        ("file's path in its bundle", given(&parsed.relative_fileloc), 2000),
        ("list of owners", dag.owners.join(", ").into(), 2000),
        ("display name", dag.display_name.as_deref().unwrap_or_default().into(), 2000),
    ];
    texts.extend(parsed.tags.iter().map(|tag| ("tag", Cow::from(&**tag), 100)));
    for (owner, link) in &parsed.owner_links {
        texts.push(("owner with a link", Cow::from(&**owner), 500));
        texts.push(("link of an owner", Cow::from(&**link), 500));
    }
    let names = dag.deadlines.iter().filter_map(|deadline| deadline.name.as_deref());
    texts.extend(names.map(|name| ("name of a deadline", Cow::from(name), 250)));
    texts
}

/// Whether a text in a document has U+0000, which JSON can only write as an escape.
fn has_null_character(document: &str) -> bool {
    document.match_indices("\\u0000").any(|(place, _)| {
        let backslashes = document[..place].bytes().rev().take_while(|byte| *byte == b'\\').count();
        backslashes % 2 == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escaped_backslash_before_u0000_is_no_null_character() {
        assert!(has_null_character(r#"{"a": "x\u0000"}"#));
        assert!(has_null_character(r#"{"a": "x\\\u0000"}"#));
        assert!(!has_null_character(r#"{"a": "x\\u0000"}"#));
        assert!(!has_null_character(r#"{"a": "x\u0001"}"#));
    }

    #[test]
    fn a_message_loses_its_middle_or_its_null_characters_but_never_its_end() {
        let long = format!("first{}last", "é".repeat(40_000));
        let kept = fitting(Dialect::MariaDb, &long);
        assert!(kept.len() <= MYSQL_TEXT && kept.len() > MYSQL_TEXT - 4, "{}", kept.len());
        assert!(kept.starts_with("first") && kept.ends_with("last") && kept.contains("left out"));
        assert_eq!(fitting(Dialect::Postgres, &long), long);
        assert_eq!(fitting(Dialect::Postgres, "a\0b"), r"a\x00b");
        assert_eq!(fitting(Dialect::Sqlite, "a\0b"), "a\0b");
    }
}
