//! The same sequences of parses, stored by Airflow and by us: all rows are equal after every step.

use std::path::Path;
use std::time::Duration;

use ferroflow_dagproc::store::{FileResult, StoreSettings, store_file};
use ferroflow_db::{Db, Json};
use ferroflow_python::{DagWarning, ImportError, ParsedFile};
use ferroflow_testkit::{Airflow, Server, TestDb};
use serde_json::Value;

use crate::store::given::{NoPython, settings};

const SCRIPT: &str = "testdata/store/sequences.py";

#[tokio::test]
async fn sequences_of_parses_leave_the_rows_that_airflow_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let (official, ours) = (TestDb::migrated(Server::Sqlite).await, TestDb::migrated(Server::Sqlite).await);
    for database in [&official, &ours] {
        for bundle in ["dags-folder", "other"] {
            let add = "INSERT INTO dag_bundle (name, active, template_params) VALUES";
            database.execute(format!("{add} ('{bundle}', 1, '{{}}')")).await;
        }
    }
    let airflow = Airflow::on(&official.url());
    let output = airflow.python(SCRIPT, &["store", folder.path().to_str().unwrap()], "").expect_success();
    // Airflow logs among the lines.
    let lines = output.lines().filter(|line| line.starts_with("{\"name\""));
    let steps: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(steps.len() > 40, "{} steps", steps.len());
    let db = ours.connect().await;
    let mut databases = [Vec::new(), Vec::new()];
    for step in &steps {
        for statement in step["sql"].as_array().unwrap() {
            ours.execute(statement.as_str().unwrap()).await;
        }
        store(&db, step, folder.path()).await;
        let name = format!("{}-{}", step["name"].as_str().unwrap(), step["number"]);
        let copy = folder.path().join(format!("ours-{name}.db"));
        ours.execute(format!("VACUUM INTO '{}'", copy.display())).await;
        databases[0].push(folder.path().join(format!("{name}.db")));
        databases[1].push(copy);
    }
    let [official, ours] = databases.map(|databases| {
        let mut arguments = vec!["dump"];
        arguments.extend(databases.iter().map(|path| path.to_str().unwrap()));
        airflow.python(SCRIPT, &arguments, "").expect_success()
    });
    for ((step, official), ours) in steps.iter().zip(official.lines()).zip(ours.lines()) {
        let [official, ours] = [official, ours].map(|line| serde_json::from_str::<Value>(line).unwrap());
        for (table, expected) in official.as_object().unwrap() {
            assert_rows(&format!("{} {}: {table}", step["name"], step["number"]), &ours[table], expected);
        }
    }
}

fn assert_rows(place: &str, found: &Value, expected: &Value) {
    let (found, expected) = (found.as_array().unwrap(), expected.as_array().unwrap());
    let missing: Vec<&Value> = expected.iter().filter(|row| !found.contains(row)).collect();
    let surplus: Vec<&Value> = found.iter().filter(|row| !expected.contains(row)).collect();
    assert!(
        missing.is_empty() && surplus.is_empty() && found.len() == expected.len(),
        "{place}:\nAirflow has {missing:#?}\nwe have {surplus:#?}"
    );
}

async fn store(db: &Db, step: &Value, folder: &Path) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let relative_path = format!("{}.py", step["name"].as_str().unwrap());
    std::fs::write(folder.join(&relative_path), step["source"].as_str().unwrap()).unwrap();
    let import_errors = step["import_errors"].as_object().unwrap();
    let parsed = ParsedFile {
        imports: Vec::new(),
        dags: step["documents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|document| Json::from_text(text(document)).unwrap())
            .collect(),
        import_errors: import_errors
            .iter()
            .map(|(file, error)| ImportError { filename: file.clone(), stacktrace: text(error) })
            .collect(),
        warnings: step["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|warning| DagWarning {
                dag_id: text(&warning[0]),
                warning_type: text(&warning[1]),
                message: text(&warning[2]),
            })
            .collect(),
    };
    let file = FileResult {
        bundle_name: text(&step["bundle"]),
        bundle_version: step["bundle_version"].as_str().map(str::to_owned),
        version_data: Some(&step["version_data"]).filter(|data| !data.is_null()).map(Json::from),
        relative_path,
        parsed,
        duration: 1.5,
    };
    let settings = StoreSettings {
        min_serialized_dag_update_interval: Duration::from_secs(step["interval"].as_u64().unwrap()),
        compress_serialized_dags: step["compress"].as_bool().unwrap(),
        ..settings()
    };
    let now = step["now"].as_str().unwrap().parse().unwrap();
    store_file(db, file, &settings, &NoPython, now).await.unwrap();
}
