//! `ferroflow dags` beside what `airflow dags` was seen to print of the same rows, on every database.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::HashMap;

use ferroflow_db::dag::{self, Dag};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::{Db, Json, ScopedFutureExt as _, dag_bundle};
use ferroflow_testkit::{Airflow, Finished, Program, Server, TestDb, given, repository};
use jiff::Timestamp;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::constant(1_772_345_228, 0);

#[tokio::test]
async fn on_sqlite() {
    answers_are_airflow_s(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    answers_are_airflow_s(Server::Postgres).await;
}

#[tokio::test]
async fn on_mariadb() {
    answers_are_airflow_s(Server::MariaDb).await;
}

/// Tables and plain columns line by line, JSON and YAML as data, exit codes, and what is said beside.
async fn answers_are_airflow_s(server: Server) {
    let site = Site::on(server).await;
    let mut yaml = Vec::new();
    for answer in site.recorded["answers"].as_array().unwrap() {
        let arguments: Vec<&str> =
            answer["arguments"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
        if server != Server::Sqlite && !depends_on_the_database(&arguments) {
            continue;
        }
        let ours = site.run(&arguments);
        let theirs = (text(&answer["stdout"]), text(&answer["stderr"]));
        assert_eq!(Value::from(ours.code), answer["code"], "{arguments:?}\n{}{}", ours.stdout, ours.stderr);
        match *arguments {
            [.., "-o", "json"] => {
                let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
                assert_eq!(parsed(&ours.stdout), parsed(theirs.0), "{arguments:?}");
            }
            [.., "-o", "yaml"] => yaml.push((ours.stdout.clone(), theirs.0.to_owned())),
            _ => assert_eq!(lines(&ours.stdout), lines(theirs.0), "{arguments:?}"),
        }
        assert_eq!(said_beside(&ours.stderr), said_beside(theirs.1), "{arguments:?}");
    }
    if server != Server::Sqlite {
        return;
    }
    assert!(yaml.len() > 5, "{} answers in YAML", yaml.len());
    let (ours, theirs): (Vec<_>, Vec<_>) = yaml.into_iter().unzip();
    assert_eq!(loaded(&ours), loaded(&theirs));
}

/// How a list is printed, and which runs follow a run, is not the database's doing.
fn depends_on_the_database(arguments: &[&str]) -> bool {
    let is_formatted = arguments.contains(&"-o") && !arguments.contains(&"json");
    !is_formatted && !["-n", "--field", "--table"].iter().any(|option| arguments.contains(option))
}

#[tokio::test]
async fn a_picture_in_dot_is_airflow_s() {
    let site = Site::on(Server::Sqlite).await;
    let pictures = site.recorded["pictures"].as_object().unwrap();
    assert!(pictures.len() > 10, "{} pictures", pictures.len());
    for (name, picture) in pictures {
        if name != "structure" {
            // The command draws what is stored under the name, whatever that calls itself.
            let path = repository("testdata/serialized").join(name).with_extension("json");
            let document = std::fs::read_to_string(path).unwrap().replace('\'', "''");
            let statement =
                format!("UPDATE serialized_dag SET data = '{document}' WHERE dag_id = 'structure'");
            site.database.execute(statement).await;
        }
        let drawn = site.run(&["show", "structure", "--format", "dot"]).expect_success();
        assert_eq!(parsed_dot(&drawn), *picture, "{name}: {drawn}");
    }
}

#[tokio::test]
async fn a_picture_of_text_shows_the_tree_and_its_arrows() {
    let site = Site::on(Server::Sqlite).await;
    let drawn = site.run(&["show", "structure"]).expect_success();
    assert_eq!(drawn, TREE);
}

#[tokio::test]
async fn a_picture_in_mermaid_has_groups_shapes_and_labels() {
    let site = Site::on(Server::Sqlite).await;
    let drawn = site.run(&["show", "structure", "--format", "mermaid"]).expect_success();
    assert_eq!(drawn, MERMAID);
}

#[tokio::test]
async fn a_picture_is_saved_in_the_format_of_its_name() {
    let site = Site::on(Server::Sqlite).await;
    for (name, start) in [
        ("a.dot", "digraph \"structure\""),
        ("a.gv", "digraph"),
        ("a.mmd", "---\ntitle"),
        ("a.txt", "structure ("),
    ] {
        let path = site.program.home().join(name);
        let file = path.to_str().unwrap();
        let said = site.run(&["show", "structure", "--save", file]).expect_success();
        assert_eq!(said, format!("File {file} saved\n"));
        let saved = std::fs::read_to_string(&path).unwrap();
        assert!(saved.starts_with(start), "{name}: {saved}");
    }
    for (arguments, told) in [
        (&["--save", "a.png"][..], "ferroflow dags show structure --format dot | dot -Tpng -o a.png"),
        (&["--save", "a"], "end it in .dot, .mmd or .txt"),
        (&["--imgcat"], "--format dot | dot -Tpng | imgcat"),
        (&["--imgcat", "--save", "a.dot"], "mutually exclusive"),
    ] {
        let refused = site.run(&[&["show", "structure"], arguments].concat());
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
    }
}

#[tokio::test]
async fn an_unknown_dag_is_told_with_near_names() {
    let site = Site::on(Server::Sqlite).await;
    for command in ["details", "show", "next-execution"] {
        let refused = site.run(&[command, "structur"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
        assert!(refused.stderr.contains("\"structur\" is not in the database; did you mean structure?"));
        let refused = site.run(&[command, "nothing like it"]);
        assert!(refused.stderr.contains("`ferroflow dags list` shows"), "{}", refused.stderr);
    }
    let empty = TestDb::migrated(Server::Sqlite).await;
    let refused = ferroflow().on(&empty.url()).run(&["dags", "details", "structure"]);
    assert!(refused.stderr.contains("it has no DAGs at all"), "{}", refused.stderr);
}

#[tokio::test]
async fn a_dag_without_a_serialized_form_is_told_with_what_to_do() {
    let site = Site::on(Server::Sqlite).await;
    site.database.execute("DELETE FROM serialized_dag WHERE dag_id = 'daily'").await;
    for command in ["show", "next-execution"] {
        let refused = site.run(&[command, "daily"]);
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains("no serialized form") && refused.stderr.contains("reserialize"));
    }
    let details = site.run(&["details", "daily", "-o", "json"]).expect_success();
    assert!(details.contains("\"daily\""), "{details}");
    let listed = site.run(&["list", "-o", "plain"]).expect_success();
    assert!(!listed.contains("daily"), "{listed}");
}

/// One DAG that cannot be read does not keep the others from being listed.
#[tokio::test]
async fn a_broken_serialized_form_matters_to_its_dag_alone() {
    let site = Site::on(Server::Sqlite).await;
    site.database.execute("UPDATE serialized_dag SET data = '{}' WHERE dag_id = 'daily'").await;
    let listed = site.run(&["list", "-o", "plain"]).expect_success();
    assert_eq!(listed.lines().count(), 8, "{listed}");
    let refused = site.run(&["show", "daily"]);
    assert!(refused.stderr.contains("\"daily\" cannot be read"), "{}", refused.stderr);
}

/// The database has the next run of a timetable that only Python can evaluate, but not the one after it: Python is
/// asked for that, and here no plugin has the class.
#[tokio::test]
async fn of_a_custom_timetable_the_next_run_is_known_without_python() {
    let site = Site::on(Server::Sqlite).await;
    let custom = "UPDATE serialized_dag SET data = replace(data, \
                  'airflow.timetables.trigger.CronTriggerTimetable', 'mine.Workdays') WHERE dag_id = 'daily'";
    site.database.execute(custom).await;
    let next = site.run(&["next-execution", "daily"]).expect_success();
    assert_eq!(next, "2026-01-01T06:30:00+00:00\n");
    let with_python =
        site.program.with("AIRFLOW__FERROFLOW__PYTHON", &format!("{}/bin/python", given("VENV")));
    let refused = with_python.run(&["dags", "next-execution", "daily", "-n", "2"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.contains("the timetable mine.Workdays is not registered"), "{}", refused.stderr);
}

/// A version without a serialized form may be newer, and one with another form older.
#[tokio::test]
async fn the_newest_version_that_is_stored_counts() {
    let site = Site::on(Server::Sqlite).await;
    let drawn = site.run(&["show", "daily"]).expect_success();
    assert!(drawn.starts_with("daily (1 task"), "{drawn}");
    let rows = site.recorded["rows"]["serialized_dag"].as_array().unwrap();
    let structure = rows.iter().find(|row| row["dag_id"] == "structure").unwrap()["data"].clone();
    let structure = &Json::from(structure);
    let db = site.database.connect().await;
    let add = db.transact(|tx| {
        async move {
            let version = NewDagVersion {
                dag_id: "daily".to_owned(),
                bundle_name: None,
                bundle_version: None,
                version_data: None,
            };
            let new = NewSerializedDag {
                dag_id: "daily".to_owned(),
                dag_version_id: dag_version::insert(tx, &version, NOW).await?,
                dag_hash: "1".repeat(32),
                data: structure.clone(),
            };
            serialized_dag::insert(tx, &new, false, NOW).await?;
            dag_version::insert(tx, &version, NOW).await
        }
        .scope_boxed()
    });
    add.await.unwrap();
    db.close().await;
    let drawn = site.run(&["show", "daily"]).expect_success();
    assert!(drawn.starts_with("structure (13 tasks"), "{drawn}");
    let next = site.run(&["next-execution", "daily"]).expect_success();
    assert_eq!(next, "2026-01-01T06:30:00+00:00\n");
}

/// Rows of Airflow before 2.2 have no data interval.
#[tokio::test]
async fn a_next_run_without_a_data_interval_covers_what_its_timetable_covers() {
    let site = Site::on(Server::Sqlite).await;
    let without =
        "UPDATE dag SET next_dagrun_data_interval_start = NULL, next_dagrun_data_interval_end = NULL";
    site.database.execute(without).await;
    let interval = "UPDATE serialized_dag SET data = replace(data, \
                    'airflow.timetables.trigger.DeltaTriggerTimetable', \
                    'airflow.timetables.interval.DeltaDataIntervalTimetable') WHERE dag_id = 'hourly'";
    site.database.execute(interval).await;
    let after =
        "UPDATE dag SET next_dagrun_create_after = '2026-01-01 01:00:00.000000' WHERE dag_id = 'hourly'";
    site.database.execute(after).await;
    for (dag_id, field, expected) in [
        ("daily", "data_interval.end", "2026-01-01T06:30:00+00:00\n"),
        ("daily", "logical_date", "2026-01-01T06:30:00+00:00\n"),
        ("hourly", "data_interval.start", "2026-01-01T00:00:00+00:00\n"),
        ("hourly", "data_interval.end", "2026-01-01T01:00:00+00:00\n"),
    ] {
        let next = site.run(&["next-execution", dag_id, "--field", field]).expect_success();
        assert_eq!(next, expected, "{dag_id} {field}");
    }
}

#[tokio::test]
async fn what_is_asked_wrongly_is_refused() {
    let site = Site::on(Server::Sqlite).await;
    for (arguments, code, told) in [
        (
            &["list", "--columns", "owner,dag"][..],
            1,
            "there is no column owner, dag; there are allowed_run_types",
        ),
        (&["list", "-B", "othr"], 1, "did you mean other?"),
        (&["next-execution", "daily", "-n", "0"], 2, "--num-executions"),
        (&["next-execution", "daily", "--field", "day"], 2, "data_interval.start"),
        (&["list", "-o", "xml"], 2, "table"),
        (&["details"], 2, "<DAG_ID>"),
    ] {
        let refused = site.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(code), ""), "{arguments:?}");
        assert!(refused.stderr.contains(told), "{arguments:?}: {}", refused.stderr);
    }
}

/// Airflow takes words in brackets for orders to its console, and loses them or fails.
#[tokio::test]
async fn brackets_in_an_error_are_no_orders() {
    let site = Site::on(Server::Sqlite).await;
    site.database.execute("UPDATE import_error SET stacktrace = 'x[bold]y[/nothing]'").await;
    for format in ["table", "plain"] {
        let listed = site.run(&["list-import-errors", "-o", format]);
        assert_eq!(listed.stdout.matches("x[bold]y[/nothing]").count(), 2, "{}", listed.stdout);
    }
}

/// Without a key that API servers share, a token is of no use to anybody.
#[tokio::test]
async fn without_a_secret_key_there_is_no_file_token() {
    let site = Site::on(Server::Sqlite).await;
    let details = ferroflow()
        .on(&site.database.url())
        .run(&["dags", "details", "daily", "-o", "json"])
        .expect_success();
    let details: Value = serde_json::from_str(&details).unwrap();
    assert_eq!(details[0]["file_token"], Value::Null);
}

fn ferroflow() -> Program {
    Program::new(env!("CARGO_BIN_EXE_ferroflow"))
}

/// A database with the recorded rows, and the program on it.
struct Site {
    recorded: Value,
    database: TestDb,
    program: Program,
}

impl Site {
    async fn on(server: Server) -> Self {
        let recorded = std::fs::read_to_string(repository("testdata/dags_cli/dags_cli.json")).unwrap();
        let recorded: Value = serde_json::from_str(&recorded).unwrap();
        let database = TestDb::migrated(server).await;
        let db = database.connect().await;
        fill(&db, &recorded["rows"]).await;
        db.close().await;
        for statement in insertions(&recorded["rows"], server) {
            database.execute(statement).await;
        }
        let bundles =
            json!(["dags-folder", "other", "empty"].map(|name| json!({"name": name, "classpath": "x.Y"})));
        let program = ferroflow()
            .on(&database.url())
            .with("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
            .with("AIRFLOW__API__SECRET_KEY", text(&recorded["secret_key"]))
            .with("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", &bundles.to_string());
        Self { recorded, database, program }
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        self.program.run(&[&["dags"], arguments].concat())
    }
}

async fn fill(db: &Db, rows: &Value) {
    let work = db.transact(|tx| {
        async move {
            for row in rows["dag"].as_array().unwrap() {
                let dag = stored_dag(row);
                dag_bundle::insert_if_missing(tx, &dag.bundle_name).await?;
                dag::insert(tx, &dag).await?;
                let version = NewDagVersion {
                    dag_id: dag.dag_id.clone(),
                    bundle_name: Some(dag.bundle_name.clone()),
                    bundle_version: None,
                    version_data: None,
                };
                let dag_version_id = dag_version::insert(tx, &version, NOW).await?;
                let serialized = rows["serialized_dag"].as_array().unwrap();
                let serialized = serialized.iter().find(|row| row["dag_id"] == *dag.dag_id).unwrap();
                let new = NewSerializedDag {
                    dag_id: dag.dag_id.clone(),
                    dag_version_id,
                    dag_hash: "0".repeat(32),
                    data: Json::from(serialized["data"].clone()),
                };
                serialized_dag::insert(tx, &new, false, NOW).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    work.await.unwrap();
}

fn stored_dag(row: &Value) -> Dag {
    let string = |key: &str| row[key].as_str().map(str::to_owned);
    let flag = |key: &str| row[key].as_bool().unwrap();
    let time = |key: &str| string(key).map(|text| text.parse::<Timestamp>().unwrap());
    let number = |key: &str| i32::try_from(row[key].as_i64().unwrap()).unwrap();
    let json = |key: &str| (!row[key].is_null()).then(|| Json::from(row[key].clone()));
    Dag {
        dag_id: string("dag_id").unwrap(),
        is_paused: flag("is_paused"),
        is_stale: flag("is_stale"),
        exceeds_max_non_backfill: flag("exceeds_max_non_backfill"),
        last_parsed_time: time("last_parsed_time"),
        last_parse_duration: row["last_parse_duration"].as_f64(),
        last_expired: time("last_expired"),
        fileloc: string("fileloc"),
        relative_fileloc: string("relative_fileloc"),
        bundle_name: string("bundle_name").unwrap(),
        bundle_version: string("bundle_version"),
        owners: string("owners"),
        dag_display_name: string("dag_display_name"),
        description: string("description"),
        timetable_type: string("timetable_type").unwrap(),
        timetable_summary: string("timetable_summary"),
        timetable_description: string("timetable_description"),
        timetable_partitioned: flag("timetable_partitioned"),
        timetable_periodic: flag("timetable_periodic"),
        partition_mapper_info: Json::from(row["partition_mapper_info"].clone()),
        asset_expression: json("asset_expression"),
        deadline: json("deadline"),
        max_active_tasks: number("max_active_tasks"),
        max_active_runs: Some(number("max_active_runs")),
        max_consecutive_failed_dag_runs: number("max_consecutive_failed_dag_runs"),
        has_task_concurrency_limits: flag("has_task_concurrency_limits"),
        has_import_errors: row["has_import_errors"].as_bool(),
        fail_fast: flag("fail_fast"),
        allowed_run_types: json("allowed_run_types"),
        next_dagrun: time("next_dagrun"),
        next_dagrun_data_interval_start: time("next_dagrun_data_interval_start"),
        next_dagrun_data_interval_end: time("next_dagrun_data_interval_end"),
        next_dagrun_partition_key: string("next_dagrun_partition_key"),
        next_dagrun_partition_date: time("next_dagrun_partition_date"),
        next_dagrun_create_after: time("next_dagrun_create_after"),
    }
}

/// For the tables that nothing of ours writes by rows.
fn insertions(rows: &Value, server: Server) -> Vec<String> {
    let literal = |value: &Value| {
        let text = value.as_str().unwrap().replace('\'', "''");
        if server == Server::MariaDb {
            format!("'{}'", text.replace('\n', "\\n"))
        } else {
            format!("'{text}'")
        }
    };
    let mut statements = Vec::new();
    for tag in rows["dag_tag"].as_array().unwrap() {
        let (name, dag_id) = (literal(&tag["name"]), literal(&tag["dag_id"]));
        statements.push(format!("INSERT INTO dag_tag (name, dag_id) VALUES ({name}, {dag_id})"));
    }
    for error in rows["import_error"].as_array().unwrap() {
        let cells = ["timestamp", "filename", "bundle_name", "stacktrace"].map(|name| literal(&error[name]));
        let cells = cells.join(", ");
        statements.push(format!(
            "INSERT INTO import_error (timestamp, filename, bundle_name, stacktrace) VALUES ({cells})"
        ));
    }
    statements
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Without blanks at the ends of lines, and without an empty line at the end.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

/// What is on standard error, as far as it should be the same: not how it is folded, how a program calls itself, and
/// how columns are listed; nor why a name is unknown, where ours say more.
fn said_beside(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let said = words.join(" ").replace("`ferroflow ", "`airflow ").replace(['[', ']', '\''], "");
    let said = said.replace("owner. List", "owner.  List").replace("  ", " ");
    if let Some(rest) =
        said.strip_prefix("error: Bundles not found: ").or(said.strip_prefix("Bundles not found: "))
    {
        return format!("unknown bundle {}", rest.split(';').next().unwrap());
    }
    if [
        "DAG: nonsense does not exist",
        "Can not find dag nonsense",
        "error: DAG \"nonsense\" is not in the database",
    ]
    .iter()
    .any(|start| said.starts_with(start))
    {
        return "unknown DAG nonsense".to_owned();
    }
    said.strip_prefix("error: ").unwrap_or(&said).to_owned()
}

/// What `PyYAML` reads in each of the texts.
fn loaded(documents: &[String]) -> Value {
    let nested = documents.iter().enumerate().map(|(number, document)| format!("d{number}:\n{document}\n"));
    let all: String = nested.collect();
    let loaded = Airflow::on("sqlite://").python("testdata/output/load_yaml.py", &[], &all).expect_success();
    serde_json::from_str(&loaded).unwrap()
}

/// What a DOT source draws, in the form of the recording.
fn parsed_dot(source: &str) -> Value {
    let mut open = vec![json!({"nodes": {}, "edges": [], "clusters": []})];
    for line in source.lines() {
        let tokens = tokens(line);
        let words: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let is_inner = open.len() > 1;
        let last = open.last_mut().unwrap();
        match &words[..] {
            ["digraph", name, "{"] => last["name"] = json!(name),
            ["graph", attributes @ ..] => last["attributes"] = self::attributes(attributes),
            ["subgraph", name, "{"] => {
                open.push(json!({"name": name, "nodes": {}, "edges": [], "clusters": []}));
            }
            ["}"] if is_inner => {
                let closed = open.pop().unwrap();
                open.last_mut().unwrap()["clusters"].as_array_mut().unwrap().push(closed);
            }
            ["}"] | [] => {}
            [from, "->", to, attributes @ ..] => {
                let label = self::attributes(attributes)["label"].clone();
                last["edges"].as_array_mut().unwrap().push(json!([from, to, label]));
            }
            [node, "[", attributes @ ..] => last["nodes"][*node] = self::attributes(attributes),
            attributes => last["attributes"] = self::attributes(attributes),
        }
    }
    open.pop().unwrap()
}

fn attributes(words: &[&str]) -> Value {
    let words: Vec<&&str> = words.iter().filter(|word| !["[", "]", "="].contains(word)).collect();
    let pairs: HashMap<&str, &str> = words.chunks(2).map(|pair| (*pair[0], *pair[1])).collect();
    json!(pairs)
}

/// Words, signs, and texts in quotes without these.
fn tokens(line: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => {
                let mut text = String::new();
                while let Some(c) = rest.next().filter(|c| *c != '"') {
                    text.push(if c == '\\' { rest.next().unwrap() } else { c });
                }
                tokens.push(text);
            }
            '[' | ']' | '=' | '{' | '}' => tokens.push(c.to_string()),
            c if c.is_whitespace() => {}
            c => {
                let mut word = String::from(c);
                while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || "._->".contains(*c)) {
                    word.push(c);
                }
                tokens.push(word);
            }
        }
    }
    tokens
}

const TREE: &str = r#"structure (13 tasks, 4 groups, schedule None)
├─ begin "The \"beginning\"" (EmptyOperator)
│     ─▶ each/
│     ─▶ extract/ "go & see"
├─ alone (EmptyOperator)
├─ make_cluster (@task) [setup]
│     ─▶ count
│     ─▶ drop_cluster
├─ extract/
│  │  ─▶ load/
│  ├─ inner/
│  │  ├─ a (BashOperator)
│  │  │     ─▶ extract.inner.b
│  │  └─ b (BashOperator)
│  └─ beside (EmptyOperator)
├─ each/ [mapped]
│  ├─ first (@task)
│  │     ─▶ each.second
│  └─ second (EmptyOperator)
├─ count (@task) [mapped]
│     ─▶ drop_cluster
├─ drop_cluster (@task) [teardown]
├─ load/
│  │  ─▶ end "done"
│  ├─ left (EmptyOperator)
│  └─ right (EmptyOperator)
└─ end (EmptyOperator) [none_failed_min_one_success]
"#;

const MERMAID: &str = r#"---
title: 'structure'
---
flowchart LR
  t2["alone"]
  t0["begin"]
  t9[["count"]]
  t10[\"drop_cluster"\]
  subgraph g4["each [ ]"]
    t11["first"]
    t12["second"]
  end
  t1["end"]
  subgraph g1["extract"]
    t5["beside"]
    subgraph g2["inner"]
      t3["a"]
      t4["b"]
    end
  end
  subgraph g3["load"]
    t6["left"]
    t7["right"]
  end
  t8[/"make_cluster"/]
  t0 --> g4
  t0 -- "go #38; see" --> g1
  t9 --> t10
  t11 --> t12
  g1 --> g3
  t3 --> t4
  g3 -- "done" --> t1
  t8 --> t9
  t8 --> t10
  classDef c0 fill:#e8f7e4,color:#000
  class t0,t1,t2,t5,t6,t7,t12 c0
  classDef c1 fill:#f0ede4,color:#000
  class t3,t4 c1
  classDef c2 fill:#ffefeb,color:#000
  class t8,t9,t10,t11 c2
"#;
