//! The rows that `ferroflow dag-processor` writes are those that official Airflow was seen to write, phase by phase;
//! where they differ, [`crate::dag_processing::accepted`] says why.
//!
//! Both are run, and their rows read, by `testdata/dag_processing/process.py`.

use std::collections::BTreeSet;

use ferroflow_testkit::replay::read;
use ferroflow_testkit::{Airflow, Server, TestDb, repository};
use serde_json::Value;

use crate::dag_processing::FERROFLOW;
use crate::dag_processing::accepted::ACCEPTED;
use crate::dag_processing::differences::differences;

async fn rows_are_those_of_airflow(server: Server, scenario: &str) {
    let theirs = recorded(scenario);
    let ours = ours(server, scenario).await;
    let mut used = BTreeSet::new();
    let mut strange = Vec::new();
    let phases = theirs.as_object().expect("phases have names");
    assert_eq!(phases.len(), ours.as_object().expect("phases have names").len());
    for (phase, theirs) in phases {
        for difference in differences(&theirs["rows"], &ours[phase]["rows"]) {
            let place = ACCEPTED.iter().enumerate().find_map(|(number, accepted)| {
                Some((number, accepted.is_about(server, scenario, phase, &difference)?))
            });
            match place {
                Some(place) => drop(used.insert(place)),
                None => strange.push(format!("{phase}: {difference}")),
            }
        }
    }
    assert!(
        strange.is_empty(),
        "{} differences in {scenario} on {server:?}\n{}",
        strange.len(),
        shortened(&strange)
    );
    a_second_pass_changes_nothing_but_times(&ours);
    let expected = ACCEPTED.iter().enumerate().filter(|(_, accepted)| accepted.is_expected(server, scenario));
    let unused: Vec<_> = expected
        .flat_map(|(number, accepted)| accepted.places().map(move |place| (number, place)))
        .filter(|place| !used.contains(place))
        .map(|(number, place)| (place, &ACCEPTED[number]))
        .collect();
    assert!(unused.is_empty(), "accepted, and there is no such difference: {unused:#?}");
}

/// A pass over the same files changes no row, and writes none anew: only times of parsing, of refreshing, and of
/// errors that were seen again.
fn a_second_pass_changes_nothing_but_times(ours: &Value) {
    const TIMES: [(&str, &[&str]); 3] = [
        (
            "dag",
            &[
                "last_parse_duration",
                "last_parsed_time",
                // Of a DAG that does not catch up they move with the clock.
                "next_dagrun",
                "next_dagrun_create_after",
                "next_dagrun_data_interval_end",
                "next_dagrun_data_interval_start",
                "next_dagrun_partition_date",
                "next_dagrun_partition_key",
            ],
        ),
        ("dag_bundle", &["last_refreshed"]),
        ("import_error", &["timestamp"]),
    ];
    let Some(unchanged) = ours.get("unchanged") else { return };
    assert_eq!(differences(&ours["initial"]["rows"], &unchanged["rows"]), []);
    let changed = unchanged["changed columns"].as_object().expect("tables have names");
    assert!(changed.contains_key("dag"), "nothing was parsed: {changed:?}");
    for (table, columns) in changed {
        let times = TIMES.iter().find(|(name, _)| name == table).map_or(&[][..], |(_, times)| times);
        let columns = columns.as_array().expect("columns are a list").iter().filter_map(Value::as_str);
        let others: Vec<&str> = columns.filter(|column| !times.contains(column)).collect();
        assert!(others.is_empty(), "a second pass has changed {table} {others:?}");
    }
}

/// The first so many, each on one line or few.
fn shortened(differences: &[String]) -> String {
    differences.iter().take(60).map(String::as_str).collect::<Vec<_>>().join("\n")
}

fn recorded(scenario: &str) -> Value {
    let path = repository("testdata/dag_processing").join(format!("{scenario}.json.gz"));
    serde_json::from_str(&read(&path).expect("the recording is there")).expect("the recording is JSON")
}

async fn ours(server: Server, scenario: &str) -> Value {
    let db = TestDb::migrated(server).await;
    let answer =
        Airflow::on(&db.url()).python("testdata/dag_processing/process.py", &[scenario, FERROFLOW], "");
    serde_json::from_str(&answer.expect_success()).expect("the answer is JSON")
}

#[tokio::test]
async fn the_folder_of_hard_cases_on_sqlite() {
    rows_are_those_of_airflow(Server::Sqlite, "folder").await;
}

#[tokio::test]
async fn the_folder_of_hard_cases_on_postgres() {
    rows_are_those_of_airflow(Server::Postgres, "folder").await;
}

#[tokio::test]
async fn the_folder_of_hard_cases_on_mariadb() {
    rows_are_those_of_airflow(Server::MariaDb, "folder").await;
}

#[tokio::test]
async fn ignore_files_with_regular_expressions() {
    rows_are_those_of_airflow(Server::Sqlite, "regexp").await;
}

#[tokio::test]
async fn all_examples_on_sqlite() {
    rows_are_those_of_airflow(Server::Sqlite, "examples").await;
}

#[tokio::test]
async fn all_examples_on_postgres() {
    rows_are_those_of_airflow(Server::Postgres, "examples").await;
}

/// What is compared is not nothing.
#[test]
fn the_recordings_hold_the_hard_cases() {
    let folder = recorded("folder");
    let count = |phase: &str, table: &str| folder[phase]["rows"][table].as_array().map_or(0, Vec::len);
    for (table, least) in [
        ("dag", 90),
        ("serialized_dag", 90),
        ("dag_tag", 20),
        ("dag_owner_attributes", 3),
        ("asset", 15),
        ("asset_alias", 2),
        ("asset_watcher", 1),
        ("trigger", 1),
        ("deadline_alert", 6),
        ("dag_warning", 1),
        ("import_error", 8),
        ("dag_schedule_asset_name_reference", 2),
        ("dag_schedule_asset_uri_reference", 1),
        ("task_inlet_asset_reference", 3),
        ("task_outlet_asset_reference", 5),
    ] {
        assert!(count("restored", table) >= least, "{table} has {}", count("restored", table));
    }
    assert!(recorded("examples")["initial"]["rows"]["dag"].as_array().is_some_and(|dags| dags.len() > 80));
}
