//! A canonical SQL text and its renderings.

use std::sync::OnceLock;

use crate::Dialect;
use crate::list::render::Fragments;

/// How a connection wants its SQL: the dialect, and whether row locks are taken
/// (`[scheduler] use_row_level_locking`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rendering {
    pub(crate) dialect: Dialect,
    pub(crate) row_locks: bool,
}

/// One operation's SQL, made by [`sql!`]. Its name, `table/operation`, appears in errors.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) name: &'static str,
    source: &'static str,
    rendered: [OnceLock<String>; 8],
}

/// A statement ready for the driver. One without lists is rendered once per process.
pub(crate) enum Text {
    Fixed(&'static str),
    Sized(String),
}

impl Statement {
    pub(crate) const fn new(name: &'static str, source: &'static str) -> Self {
        Self { name, source, rendered: [const { OnceLock::new() }; 8] }
    }

    /// Whether its lists may be taken in parts: what it finds or changes is that of all parts together.
    pub(crate) fn is_divisible(&self) -> bool {
        self.source.contains("{in}")
    }

    /// The text of a list, for one request.
    pub(crate) fn list_text(&self, fragments: &Fragments, rendering: Rendering, lists: &[usize]) -> Text {
        let mut source = self.source.replace("{order_keys}", &fragments.order_keys);
        for (name, text) in
            [("{where}", &fragments.filter), ("{order}", &fragments.order), ("{page}", &fragments.page)]
        {
            let line = if text.is_empty() { String::new() } else { format!("\n{text}") };
            source = source.replace(&format!("\n{name}"), &line);
        }
        Text::Sized(render(&source, rendering, lists))
    }

    /// The text for one call, whose lists have these (padded) lengths.
    pub(crate) fn text(&'static self, rendering: Rendering, lists: &[usize]) -> Text {
        if lists.is_empty() {
            let slot = rendering.dialect as usize * 2 + usize::from(rendering.row_locks);
            Text::Fixed(self.rendered[slot].get_or_init(|| render(self.source, rendering, lists)))
        } else {
            Text::Sized(render(self.source, rendering, lists))
        }
    }
}

/// The statement in `sql/<name>.sql`.
macro_rules! sql {
    ($name:literal) => {{
        static STATEMENT: $crate::statement::Statement = $crate::statement::Statement::new(
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/", $name, ".sql")),
        );
        &STATEMENT
    }};
}
pub(crate) use sql;

/// How many items of a list one statement takes. Every database has a limit: 32,766 binds in all, or 65,535.
pub(crate) const MAX_LIST_LENGTH: usize = 4096;

/// Lists are padded to the next power of two, so that few different statements are prepared.
pub(crate) fn padded(length: usize) -> usize {
    if length > MAX_LIST_LENGTH { length } else { length.max(1).next_power_of_two() }
}

/// Renders canonical SQL. Comments are dropped: a `?` in one is no bind.
pub(crate) fn render(source: &str, rendering: Rendering, lists: &[usize]) -> String {
    let source = without_comments(source);
    let mut out = String::with_capacity(source.len() + 32);
    let mut binds = 0;
    let mut lists = lists.iter();
    let mut rest = source.as_str();
    while let Some(at) = rest.find(['?', '{']) {
        out.push_str(&rest[..at]);
        if rest[at..].starts_with('?') {
            push_bind(&mut out, &mut binds, rendering.dialect);
            rest = &rest[at + 1..];
            continue;
        }
        let end = rest[at..].find('}').map_or(rest.len(), |length| at + length);
        match &rest[at + 1..end] {
            "in" | "few" => {
                push_binds(&mut out, &mut binds, *lists.next().unwrap_or(&1), rendering.dialect);
            }
            rows if rows.starts_with("rows:") => {
                let columns = rows["rows:".len()..].parse().unwrap_or(1);
                let rows = (lists.next().unwrap_or(&1) / columns).max(1);
                for row in 0..rows {
                    out.push_str(if row > 0 { ",\n    (" } else { "(" });
                    push_binds(&mut out, &mut binds, columns, rendering.dialect);
                    out.push(')');
                }
            }
            // An unknown fragment stays as it is, and the database refuses the statement: a test renders
            // them all.
            name => match rendering.dialect.fragment(name, rendering.row_locks) {
                Some(text) => out.push_str(&text),
                None => out.push_str(&rest[at..=end.min(rest.len() - 1)]),
            },
        }
        rest = rest.get(end + 1..).unwrap_or("");
    }
    out.push_str(rest);
    out.trim_end().to_owned()
}

fn push_binds(out: &mut String, binds: &mut usize, number: usize, dialect: Dialect) {
    for i in 0..number {
        if i > 0 {
            out.push_str(", ");
        }
        push_bind(out, binds, dialect);
    }
}

fn push_bind(out: &mut String, binds: &mut usize, dialect: Dialect) {
    *binds += 1;
    if dialect == Dialect::Postgres {
        out.push('$');
        out.push_str(&binds.to_string());
    } else {
        out.push('?');
    }
}

fn without_comments(source: &str) -> String {
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const DIALECTS: [Dialect; 4] = [Dialect::Postgres, Dialect::MySql, Dialect::MariaDb, Dialect::Sqlite];

    #[test]
    fn binds_lists_and_fragments_are_rendered_for_each_dialect() {
        let source =
            "-- why?\nSELECT {name:key} FROM t WHERE a = ? AND b IN ({in}) AND c = ?\n{lock_skip:t}\n";
        let rendered = DIALECTS.map(|dialect| render(source, Rendering { dialect, row_locks: true }, &[2]));
        assert_eq!(
            rendered,
            [
                "SELECT \"key\" FROM t WHERE a = $1 AND b IN ($2, $3) AND c = $4\nFOR NO KEY UPDATE OF t SKIP LOCKED",
                "SELECT `key` FROM t WHERE a = ? AND b IN (?, ?) AND c = ?\nFOR UPDATE OF t SKIP LOCKED",
                "SELECT `key` FROM t WHERE a = ? AND b IN (?, ?) AND c = ?\nFOR UPDATE SKIP LOCKED",
                "SELECT \"key\" FROM t WHERE a = ? AND b IN (?, ?) AND c = ?",
            ]
        );
    }

    #[test]
    fn without_row_locks_no_dialect_locks() {
        for dialect in DIALECTS {
            let text =
                render("SELECT 1 {lock_nowait} {lock_skip:t}", Rendering { dialect, row_locks: false }, &[]);
            assert_eq!(text, "SELECT 1");
        }
    }

    #[test]
    fn lists_are_padded_to_powers_of_two() {
        assert_eq!([0, 1, 2, 3, 5, 8, 100, 5000].map(padded), [1, 1, 2, 4, 8, 8, 128, 5000]);
    }

    /// A misspelt fragment would otherwise show only when it runs.
    #[test]
    fn every_statement_renders_without_a_leftover_in_every_dialect() {
        for (name, source) in statements() {
            for dialect in DIALECTS {
                let text = render(&source, Rendering { dialect, row_locks: true }, &[2, 2]);
                assert!(!text.contains(['{', '}']), "{name}: {text}");
            }
        }
    }

    /// Where the order matters only among what belongs to one item.
    const IN_ORDER_BY_ITEM: [&str; 6] = [
        "task_instance/of_runs.sql",
        "asset_alias/of_assets.sql",
        "asset_watcher/of_assets.sql",
        "dag_schedule_asset_reference/of_assets.sql",
        "task_inlet_asset_reference/of_assets.sql",
        "task_outlet_asset_reference/of_assets.sql",
    ];

    /// A long list is taken in parts, and what is found is put together: so nothing may depend on the whole of it. What
    /// does has `{few}` instead, and a list that does not grow with the database.
    #[test]
    fn lists_of_any_length_can_be_taken_in_parts() {
        for (name, source) in statements() {
            let text = without_comments(&source);
            if !text.contains("{in}") {
                continue;
            }
            assert!(!text.contains("{few}"), "{name}: one list cannot be taken in parts");
            for what in ["NOT IN ({in})", "UNION", "\nLIMIT", "\nORDER BY"] {
                let is_harmless = what == "\nORDER BY" && IN_ORDER_BY_ITEM.contains(&name.as_str());
                assert!(is_harmless || !text.contains(what), "{name}: {what} is about the whole of the list");
            }
            let columns: Vec<&str> = text
                .match_indices(" IN ({in})")
                .filter_map(|(at, _)| text[..at].rsplit([' ', '(', '.', '\n']).next())
                .collect();
            for (at, _) in text.match_indices(" OR ") {
                let is_choice =
                    text[..at].ends_with("(?") || !text[at..].lines().next().unwrap().contains("{in}");
                assert!(is_choice, "{name}: the list is only one of several conditions");
            }
            let grouped = text
                .lines()
                .rfind(|line| line.starts_with("GROUP BY"))
                .or_else(|| text.lines().next().filter(|line| line.starts_with("SELECT DISTINCT")));
            let counts =
                text.lines().next().is_some_and(|line| line.contains("COUNT(") || line.contains("MAX("));
            if counts || grouped.is_some() {
                let is_by_item = columns.iter().any(|column| grouped.is_some_and(|by| by.contains(column)));
                assert!(is_by_item, "{name}: what is counted is not that of single items");
            }
        }
    }

    /// What each database is sent, for review, where they differ in more than how a bind is written.
    #[test]
    fn renderings_of_statements_with_fragments() {
        let mut all = String::new();
        for (name, source) in statements().into_iter().filter(|(_, source)| source.contains('{')) {
            for dialect in DIALECTS {
                let text = render(&source, Rendering { dialect, row_locks: true }, &[2, 2]);
                writeln!(all, "-- {name}: {dialect}\n{text}\n").unwrap();
            }
        }
        insta::assert_snapshot!(all);
    }

    /// Every file under `sql/`, by its name.
    fn statements() -> Vec<(String, String)> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
        let mut found = Vec::new();
        for table in fs_err::read_dir(&root).unwrap() {
            for file in fs_err::read_dir(table.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                found.push((name, fs_err::read_to_string(&path).unwrap()));
            }
        }
        found.sort();
        assert!(found.len() > 20);
        found
    }
}
