//! A database with the recorded rows, and the program on it.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use ferroflow_db::testing::texts;
use ferroflow_testkit::{Finished, Program, Server, TestDb, finish, given, repository};
use regex::Regex;
use serde_json::{Value, json};

/// How the names of tables of old rows begin.
const ARCHIVE: &str = "_airflow_deleted__";

pub(crate) struct Site {
    pub(crate) database: TestDb,
    pub(crate) program: Program,
    pub(crate) server: Server,
}

/// What was recorded.
pub(crate) fn recording() -> &'static Value {
    static RECORDING: OnceLock<Value> = OnceLock::new();
    RECORDING.get_or_init(|| {
        let text = std::fs::read_to_string(repository("testdata/cli/cli.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    })
}

/// A text without what depends on the day, and the number of rows that Airflow does not count the same every day.
pub(crate) fn times_replaced(text: &str) -> String {
    static RECENT: OnceLock<Regex> = OnceLock::new();
    static COUNTED: OnceLock<Regex> = OnceLock::new();
    let recent = RECENT.get_or_init(|| {
        let pattern = r"20(?:2[5-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?";
        Regex::new(pattern).unwrap()
    });
    let text = recent.replace_all(text, "<now>");
    let counted = COUNTED.get_or_init(|| Regex::new(r"Removed \d+ record").unwrap());
    counted.replace_all(&text, "Removed <some> record").into_owned()
}

impl Site {
    pub(crate) async fn on(server: Server) -> Self {
        let database = TestDb::migrated(server).await;
        let statements = insertions(&recording()["rows"], server);
        database.execute(statements).await;
        let program = Program::new(env!("CARGO_BIN_EXE_ferroflow"))
            .on(&database.url())
            .with("LOGNAME", "somebody")
            .with("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
            .with("AIRFLOW__CORE__DAGS_FOLDER", &repository("testdata/cli/dags").display().to_string())
            .with("AIRFLOW__FERROFLOW__PYTHON", &format!("{}/bin/python", given("VENV")))
            .with("AIRFLOW__CORE__FERNET_KEY", "");
        Self { database, program, server }
    }

    /// Puts more rows in the place of those of some tables; one for old rows is made.
    pub(crate) async fn put(&self, tables: &Value) {
        let archives = tables.as_object().unwrap().keys().filter(|name| name.starts_with(ARCHIVE));
        let made = archives.map(|name| {
            let (of, _) = name[ARCHIVE.len()..].rsplit_once("__").unwrap();
            let (name, of) = (quoted(name, self.server), quoted(of, self.server));
            format!("CREATE TABLE {name} AS SELECT * FROM {of} WHERE 1 = 0;\n")
        });
        let statements = made.collect::<String>() + &insertions(tables, self.server);
        self.database.execute(statements).await;
    }

    /// Columns of what was kept of old rows of a table.
    pub(crate) async fn archived(&self, table: &str, columns: &Value) -> Vec<Value> {
        let list = match self.server {
            Server::Sqlite => "SELECT name AS answer FROM sqlite_master WHERE type = 'table'",
            Server::Postgres => {
                "SELECT CAST(tablename AS TEXT) AS answer FROM pg_tables WHERE schemaname = current_schema()"
            }
            Server::MariaDb => {
                "SELECT table_name AS answer FROM information_schema.tables WHERE table_schema = DATABASE()"
            }
        };
        let db = self.database.connect().await;
        let names = texts(&db, list).await.unwrap();
        db.close().await;
        let mut rows = Vec::new();
        for name in names.iter().filter(|name| name.starts_with(&format!("{ARCHIVE}{table}__"))) {
            rows.extend(self.rows(name, columns).await);
        }
        rows
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        self.run_with_input(arguments, "")
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Finished {
        finish(self.program.command(arguments).current_dir(self.program.home()), input)
    }

    /// Runs a step of a scenario.
    pub(crate) fn run_step(&self, arguments: &[&str], step: &Value) -> Finished {
        let mut command = self.program.command(arguments);
        command.current_dir(self.program.home());
        for (name, value) in step["environment"].as_object().into_iter().flatten() {
            command.env(name, value.as_str().unwrap());
        }
        finish(&mut command, step["input"].as_str().unwrap_or_default())
    }

    pub(crate) fn write(&self, file: &str, content: &str) {
        std::fs::write(self.program.home().join(file), content).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.program.home().join(file)).ok()
    }

    /// Columns of all rows of a table, in the form of the recording.
    pub(crate) async fn rows(&self, table: &str, columns: &Value) -> Vec<Value> {
        let columns: Vec<(&str, &str)> = columns
            .as_array()
            .unwrap()
            .iter()
            .map(|column| (column[0].as_str().unwrap(), column[1].as_str().unwrap()))
            .collect();
        let db = self.database.connect().await;
        let found = texts(&db, &question(self.server, table, &columns)).await.unwrap();
        db.close().await;
        let row = |text: &String| {
            let row: Value = serde_json::from_str(text).unwrap();
            Value::Array(columns.iter().map(|(name, kind)| canonical(&row[*name], kind)).collect())
        };
        found.iter().map(row).collect()
    }
}

fn quoted(name: &str, server: Server) -> String {
    if server == Server::MariaDb { format!("`{name}`") } else { format!("\"{name}\"") }
}

/// All rows of a table, each as one JSON object of texts.
fn question(server: Server, table: &str, columns: &[(&str, &str)]) -> String {
    let condition = if table == "log" { " WHERE event LIKE 'cli_%'" } else { "" };
    let table = quoted(table, server);
    let cast = if server == Server::MariaDb { "CHAR" } else { "TEXT" };
    let texts = columns.iter().map(|(name, _)| format!("CAST({} AS {cast})", quoted(name, server)));
    if server == Server::Postgres {
        let texts: Vec<String> =
            texts.zip(columns).map(|(text, (name, _))| format!("{text} AS \"{name}\"")).collect();
        let inner = format!("SELECT {} FROM {table}{condition}", texts.join(", "));
        return format!("SELECT CAST(row_to_json(t) AS TEXT) AS answer FROM ({inner}) AS t");
    }
    let texts: Vec<String> =
        texts.zip(columns).map(|(text, (name, _))| format!("'{name}', {text}")).collect();
    format!("SELECT JSON_OBJECT({}) AS answer FROM {table}{condition}", texts.join(", "))
}

fn canonical(cell: &Value, kind: &str) -> Value {
    let Some(text) = cell.as_str() else { return Value::Null };
    match kind {
        "BOOLEAN" => json!(if matches!(text, "1" | "true") { "true" } else { "false" }),
        "JSON" => serde_json::from_str(text).unwrap(),
        "TIMESTAMP" | "DATETIME" => {
            let replaced = times_replaced(text);
            if replaced.starts_with('<') { json!("<now>") } else { json!(padded(text)) }
        }
        "CHAR(32)" => {
            let hex = text.replace('-', "");
            if known().contains(&hex) { json!(hex) } else { json!("<new>") }
        }
        "FLOAT" => json!("<number>"),
        _ => json!(times_replaced(text)),
    }
}

/// As SQLite has it: without a zone, and with six digits of the second.
fn padded(time: &str) -> String {
    let time = time.split('+').next().unwrap();
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    format!("{seconds}.{fraction:0<6}")
}

/// The ids that were there from the beginning.
fn known() -> &'static BTreeSet<String> {
    static KNOWN: OnceLock<BTreeSet<String>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let text = recording()["rows"].to_string();
        let ids = Regex::new(r"\b[0-9a-f]{32}\b").unwrap();
        ids.find_iter(&text).map(|found| found.as_str().to_owned()).collect()
    })
}

/// Puts the recorded rows in the place of those that a new database has.
fn insertions(tables: &Value, server: Server) -> String {
    let mut statements = vec![
        match server {
            Server::Sqlite => "PRAGMA foreign_keys = OFF",
            Server::Postgres => "SET session_replication_role = replica",
            Server::MariaDb => "SET FOREIGN_KEY_CHECKS = 0",
        }
        .to_owned(),
    ];
    for (table, content) in tables.as_object().unwrap() {
        let columns = content["columns"].as_array().unwrap();
        let names: Vec<String> =
            columns.iter().map(|column| quoted(column[0].as_str().unwrap(), server)).collect();
        let row = |row: &Value| {
            let cells = row.as_array().unwrap().iter().zip(columns);
            let cells: Vec<String> =
                cells.map(|(cell, column)| literal(cell, column[1].as_str().unwrap(), server)).collect();
            format!("({})", cells.join(", "))
        };
        let rows: Vec<String> = content["rows"].as_array().unwrap().iter().map(row).collect();
        let name = quoted(table, server);
        statements.push(format!("DELETE FROM {name}"));
        statements.push(format!("INSERT INTO {name} ({}) VALUES {}", names.join(", "), rows.join(", ")));
        let is_counted = columns.iter().any(|column| column[0] == "id" && column[1] == "INTEGER");
        if server == Server::Postgres && is_counted {
            statements.push(format!(
                "SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {name}))"
            ));
        }
    }
    statements.join(";\n")
}

fn literal(cell: &Value, kind: &str, server: Server) -> String {
    match cell {
        Value::Null => "NULL".to_owned(),
        Value::Number(number) if kind == "BOOLEAN" && server == Server::Postgres => {
            if number.as_i64() == Some(0) { "false" } else { "true" }.to_owned()
        }
        Value::Number(number) => number.to_string(),
        Value::Object(bytes) => {
            let hex = bytes["hex"].as_str().unwrap();
            if server == Server::Postgres { format!("'\\x{hex}'") } else { format!("X'{hex}'") }
        }
        Value::String(text) => {
            let is_time = matches!(kind, "TIMESTAMP" | "DATETIME");
            let zone = if is_time && server == Server::Postgres { "+00:00" } else { "" };
            let text = text.replace('\'', "''");
            let text = if server == Server::MariaDb { text.replace('\\', "\\\\") } else { text };
            format!("'{text}{zone}'")
        }
        other => panic!("{other} is not in a column"),
    }
}
