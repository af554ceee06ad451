//! The metadata schema as a list of SQL statements, in each database's dialect.
//!
//! There is one source, `schema/d2f4e1b3c5a7/*.sql`: ordinary SQL, one item of a table to a line. What the
//! databases do not share is written as a fragment in braces:
//!
//! | fragment                | PostgreSQL                 | SQLite        | MySQL, MariaDB                 |
//! |-------------------------|----------------------------|---------------|--------------------------------|
//! | `{serial}`              | `SERIAL`                   | `INTEGER`     | `INTEGER AUTO_INCREMENT`       |
//! | `{autoincrement}`       | the same                   | and no reuse  | the same                       |
//! | `{timestamp}`           | `TIMESTAMP WITH TIME ZONE` | `TIMESTAMP`   | `TIMESTAMP(6)`                 |
//! | `{timestamp?}` nullable | the same                   | the same      | `TIMESTAMP(6) NULL`            |
//! | `{uuid}`                | `UUID`                     | `CHAR(32)`    | `CHAR(32)`; MariaDB: `UUID`    |
//! | `{jsonb}`               | `JSONB`                    | `JSON`        | `JSON`                         |
//! | `{blob}`                | `BYTEA`                    | `BLOB`        | `BLOB`                         |
//! | `{mediumtext}`          | `TEXT`                     | `TEXT`        | `MEDIUMTEXT`                   |
//! | `{true}`                | `true`                     | `1`           | `true`                         |
//! | `{id(n)}`               | `VARCHAR(n)`               | `VARCHAR(n)`  | and `COLLATE utf8mb3_bin`      |
//! | `{latin1(n)}`           | `VARCHAR(n)`               | `VARCHAR(n)`  | and `COLLATE latin1_general_cs`|
//!
//! The two numbered kinds are `NOT NULL` without saying so.
//!
//! Names in `"double quotes"` get the quotes of the dialect. A line that ends in `--: postgres sqlite` is for
//! these databases only (`postgres`, `sqlite`, `mysql`; the last is MariaDB too). The comma that such a line
//! may leave before a closing parenthesis is dropped. All other `--` comments stand on their own lines.

use crate::Dialect;

/// The source files, in the order that foreign keys demand.
const SOURCES: [&str; 7] = [
    include_str!("../../schema/d2f4e1b3c5a7/01-teams-and-bundles.sql"),
    include_str!("../../schema/d2f4e1b3c5a7/02-dags.sql"),
    include_str!("../../schema/d2f4e1b3c5a7/03-runs.sql"),
    include_str!("../../schema/d2f4e1b3c5a7/04-triggers-callbacks-deadlines.sql"),
    include_str!("../../schema/d2f4e1b3c5a7/05-tasks.sql"),
    include_str!("../../schema/d2f4e1b3c5a7/06-assets.sql"),
    include_str!("../../schema/d2f4e1b3c5a7/07-operations.sql"),
];

/// The statements that make the whole schema in an empty database, in order, without their semicolons.
///
/// `id_collation` is `[database] sql_engine_collation_for_ids`. It goes into the text as it is: like the rest
/// of the configuration it is the administrator's own. MariaDB before 10.7 has no `UUID`: what Airflow makes
/// there is the same as on MySQL.
pub(crate) fn statements(dialect: Dialect, id_collation: Option<&str>) -> Vec<String> {
    let id_collation = id_collation.filter(|name| !name.is_empty());
    let mut statements = Vec::new();
    let mut statement = String::new();
    for line in SOURCES.iter().flat_map(|source| source.lines()) {
        let Some(line) = line_for(dialect, line) else {
            continue;
        };
        let rendered = render(line, dialect, id_collation);
        append(&mut statement, rendered.trim_end_matches(';'));
        if line.ends_with(';') {
            statements.push(std::mem::take(&mut statement));
        }
    }
    statements
}

/// The tables of the schema in the order they are made, so that each comes after those it refers to.
pub(crate) fn table_names() -> Vec<&'static str> {
    let lines = SOURCES.iter().flat_map(|source| source.lines());
    let tables = lines.filter_map(|line| line.strip_prefix("CREATE TABLE ")?.strip_suffix(" ("));
    tables.map(|name| name.trim_matches('"')).collect()
}

/// What is left of a source line without its mark, if it is SQL and meant for this dialect.
fn line_for(dialect: Dialect, line: &str) -> Option<&str> {
    let tag = match dialect {
        Dialect::Postgres => "postgres",
        Dialect::Sqlite => "sqlite",
        Dialect::MySql | Dialect::MariaDb => "mysql",
    };
    let sql = match line.split_once("--:") {
        Some((sql, tags)) if tags.split_whitespace().any(|name| name == tag) => sql.trim(),
        Some(_) => return None,
        None => line.trim(),
    };
    (!sql.is_empty() && !sql.starts_with("--")).then_some(sql)
}

/// Adds a line to a statement.
///
/// SQLite keeps the text, and SQLAlchemy finds the names of constraints there by patterns that hold only
/// within a line and for single spaces: so alignment goes, and an item that the source breaks becomes one
/// line again.
fn append(statement: &mut String, line: &str) {
    let closes = line.starts_with(')');
    if closes && statement.ends_with(',') {
        statement.pop();
    }
    let separator = match statement.chars().last() {
        None => "",
        Some('(' | ',') => "\n    ",
        Some(_) if closes => "\n",
        Some(_) => " ",
    };
    statement.push_str(separator);
    statement.push_str(&line.split_whitespace().collect::<Vec<_>>().join(" "));
}

/// Puts the dialect's own text for the fragments and quotes of a line.
fn render(line: &str, dialect: Dialect, id_collation: Option<&str>) -> String {
    let mut rendered = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, tail)) = rest.split_once('{') {
        // What is no fragment stays, for the database to refuse; a test sees to it that there is none.
        let Some((name, after)) = tail.split_once('}') else {
            break;
        };
        let Some(text) = fragment(name, dialect, id_collation) else {
            break;
        };
        rendered.push_str(before);
        rendered.push_str(&text);
        rest = after;
    }
    rendered.push_str(rest);
    match dialect {
        Dialect::MySql | Dialect::MariaDb => rendered.replace('"', "`"),
        Dialect::Postgres | Dialect::Sqlite => rendered,
    }
}

/// The text that stands for a fragment; nothing if there is no such fragment.
fn fragment(name: &str, dialect: Dialect, id_collation: Option<&str>) -> Option<String> {
    if let Some(length) = argument(name, "id") {
        return Some(id_type(length, dialect, id_collation));
    }
    if let Some(length) = argument(name, "latin1") {
        // Two columns of 1500 characters are one index: with more than one byte each they would not fit.
        return Some(match dialect {
            Dialect::MySql | Dialect::MariaDb => format!("VARCHAR({length}) COLLATE latin1_general_cs"),
            Dialect::Postgres | Dialect::Sqlite => format!("VARCHAR({length})"),
        });
    }
    let [postgres, sqlite, mysql] = match name {
        "serial" => ["SERIAL NOT NULL", "INTEGER NOT NULL", "INTEGER NOT NULL AUTO_INCREMENT"],
        // SQLite takes the keyword only beside the column: the table's own primary key is left out there.
        "autoincrement" if dialect == Dialect::Sqlite => ["INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT"; 3],
        "autoincrement" => return fragment("serial", dialect, id_collation),
        "timestamp" => ["TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP(6)"],
        // Without explicit_defaults_for_timestamp a TIMESTAMP that does not say NULL is NOT NULL.
        "timestamp?" => ["TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP(6) NULL"],
        "uuid" if dialect == Dialect::MariaDb => ["UUID"; 3],
        "uuid" => ["UUID", "CHAR(32)", "CHAR(32)"],
        "jsonb" => ["JSONB", "JSON", "JSON"],
        "blob" => ["BYTEA", "BLOB", "BLOB"],
        "mediumtext" => ["TEXT", "TEXT", "MEDIUMTEXT"],
        "true" => ["true", "1", "true"],
        _ => return None,
    };
    let text = match dialect {
        Dialect::Postgres => postgres,
        Dialect::Sqlite => sqlite,
        Dialect::MySql | Dialect::MariaDb => mysql,
    };
    Some(text.to_owned())
}

/// `n` of a fragment `name(n)`.
fn argument<'a>(fragment: &'a str, name: &str) -> Option<&'a str> {
    fragment.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')
}

/// The type of an id column. A configured collation holds on every database, the built-in one on MySQL only,
/// where it keeps the indexes small enough and the ids case-sensitive.
fn id_type(length: &str, dialect: Dialect, collation: Option<&str>) -> String {
    match (dialect, collation) {
        (Dialect::MySql | Dialect::MariaDb, name) => {
            format!("VARCHAR({length}) COLLATE {}", name.unwrap_or("utf8mb3_bin"))
        }
        (Dialect::Postgres | Dialect::Sqlite, Some(name)) => format!("VARCHAR({length}) COLLATE \"{name}\""),
        (Dialect::Postgres | Dialect::Sqlite, None) => format!("VARCHAR({length})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECTS: [Dialect; 4] = [Dialect::Postgres, Dialect::MySql, Dialect::MariaDb, Dialect::Sqlite];

    fn created_table(statement: &str) -> Option<&str> {
        let name = statement.strip_prefix("CREATE TABLE ")?.split_once(' ')?.0;
        Some(name.trim_matches(['"', '`']))
    }

    fn statement_of(dialect: Dialect, start: &str) -> String {
        let found = statements(dialect, None).into_iter().find(|statement| statement.starts_with(start));
        found.unwrap_or_else(|| panic!("no statement starts with {start}"))
    }

    #[test]
    fn nothing_of_the_source_notation_is_left() {
        for dialect in DIALECTS {
            for statement in statements(dialect, None) {
                assert!(statement.starts_with("CREATE "), "{dialect:?}: {statement}");
                for mark in ["{", "}", "--", ";", "  )", ",\n)", "( ", "\n\n"] {
                    assert!(!statement.contains(mark), "{dialect:?}: {mark:?} in {statement}");
                }
            }
        }
    }

    #[test]
    fn every_dialect_has_the_same_tables_and_indexes() {
        let names = |dialect| -> Vec<String> {
            let strip = |statement: String| statement.replace('`', "\"").replacen("UNIQUE ", "", 1);
            let words = |statement: String| statement.split(' ').take(3).collect::<Vec<_>>().join(" ");
            statements(dialect, None).into_iter().map(strip).map(words).collect()
        };
        let expected = names(Dialect::Postgres);
        for dialect in DIALECTS {
            assert_eq!(names(dialect), expected, "{dialect:?}");
        }
    }

    #[test]
    fn the_tables_are_those_of_airflow_3_3_2() {
        let names = table_names();
        assert_eq!(names.len(), 58);
        assert_eq!((names[0], names[57]), ("team", "alembic_version"));
        for dialect in DIALECTS {
            let statements = statements(dialect, None);
            let created: Vec<_> = statements.iter().filter_map(|text| created_table(text)).collect();
            assert_eq!(created, names, "{dialect:?}");
        }
    }

    #[test]
    fn a_table_comes_after_those_it_refers_to() {
        let mut known = Vec::new();
        for statement in statements(Dialect::Postgres, None) {
            known.extend(created_table(&statement).map(str::to_owned));
            for reference in statement.split(" REFERENCES ").skip(1) {
                let table = reference.split(' ').next().unwrap_or_default().trim_matches('"').to_owned();
                assert!(known.contains(&table), "{table} is not yet there in {statement}");
            }
        }
    }

    #[test]
    fn an_item_of_a_table_is_one_line() {
        for dialect in DIALECTS {
            for statement in statements(dialect, None) {
                for line in statement.lines().filter(|line| line.starts_with(' ')) {
                    let item = line.trim_start();
                    assert!(!item.starts_with("FOREIGN") && !item.starts_with("REFERENCES"), "{statement}");
                    assert!(!item.contains("  "), "{statement}");
                }
            }
        }
    }

    #[test]
    fn a_table_in_each_dialect() {
        let id = "id VARCHAR(32) NOT NULL,\n    bundle_name VARCHAR(250)";
        let table = "CREATE TABLE dag_priority_parsing_request (";
        for (dialect, collate) in [
            (Dialect::Postgres, ""),
            (Dialect::Sqlite, ""),
            (Dialect::MySql, " COLLATE utf8mb3_bin"),
            (Dialect::MariaDb, " COLLATE utf8mb3_bin"),
        ] {
            let expected = format!(
                "{table}\n    {id}{collate} NOT NULL,\n    relative_fileloc VARCHAR(2000) NOT NULL,\n    \
                 CONSTRAINT dag_priority_parsing_request_pkey PRIMARY KEY (id)\n)"
            );
            assert_eq!(statement_of(dialect, table), expected, "{dialect:?}");
        }
    }

    #[test]
    fn sqlite_alone_names_the_autoincrement_key_beside_its_column() {
        for dialect in DIALECTS {
            let statement = statement_of(dialect, "CREATE TABLE asset_alias (");
            let beside = statement.contains("id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,");
            let named = statement.contains("CONSTRAINT asset_alias_pkey PRIMARY KEY (id)");
            assert_eq!((beside, named), (dialect == Dialect::Sqlite, dialect != Dialect::Sqlite));
        }
    }

    #[test]
    fn mysql_has_no_conditions_on_indexes() {
        let index = "CREATE INDEX idx_dag_run_running_dags ON dag_run (state, dag_id)";
        assert_eq!(statement_of(Dialect::Sqlite, index), format!("{index} WHERE state = 'running'"));
        assert_eq!(statement_of(Dialect::MySql, index), index);
    }

    #[test]
    fn only_mariadb_has_uuids_that_mysql_lacks() {
        let start =
            |dialect| statement_of(dialect, "CREATE TABLE callback (").lines().nth(1).map(str::to_owned);
        assert_eq!(start(Dialect::MariaDb).as_deref(), Some("    id UUID NOT NULL,"));
        assert_eq!(start(Dialect::MySql).as_deref(), Some("    id CHAR(32) NOT NULL,"));
    }

    #[test]
    fn a_configured_collation_replaces_the_built_in_one() {
        let column = |dialect, collation| {
            let statements = statements(dialect, collation);
            let table = statements.iter().find(|text| text.starts_with("CREATE TABLE dag_tag ("));
            table.and_then(|text| text.lines().nth(2)).map(str::to_owned)
        };
        let expect = |text: &str| Some(format!("    dag_id VARCHAR(250){text} NOT NULL,"));
        assert_eq!(column(Dialect::MySql, Some("ascii_bin")), expect(" COLLATE ascii_bin"));
        assert_eq!(column(Dialect::MariaDb, Some("")), expect(" COLLATE utf8mb3_bin"));
        assert_eq!(column(Dialect::Postgres, Some("C")), expect(" COLLATE \"C\""));
        assert_eq!(column(Dialect::Sqlite, None), expect(""));
    }
}
