//! One id twice: which of the two has it is a matter of order, in official Airflow even of chance. Whichever it is,
//! all rows are of that one.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, simple_dag};
use serde_json::{Value, json};

use crate::dag_processing::FERROFLOW;

/// A DAG with a tag.
fn tagged(dag_id: &str, tag: &str) -> String {
    simple_dag(dag_id).replace("schedule=", &format!("tags=['{tag}'], schedule="))
}

#[tokio::test]
async fn one_id_twice_is_that_of_one_dag() {
    let place = Place::on(Server::Sqlite).await;
    for file in ["a", "b"] {
        place.write(&format!("{file}.py"), tagged("in_two_files", file));
    }
    place.write("c.py", ["c", "d"].map(|tag| tagged("twice_in_a_file", tag)).concat());
    for _ in 0..2 {
        place.process_once(FERROFLOW);
        let mut observer = place.observe();
        let rows = observer.rows();
        let only = |table: &str, dag_id: &str| -> Value {
            let rows = rows[table].as_array().expect("a table has rows");
            let rows: Vec<&Value> = rows.iter().filter(|row| row["dag_id"] == dag_id).collect();
            assert_eq!(rows.len(), 1, "{table}: {rows:?}");
            rows[0].clone()
        };
        let file_by_tag = |dag_id: &str| -> String {
            let tag = only("dag_tag", dag_id)["name"].clone();
            assert_eq!(only("serialized_dag", dag_id)["data"]["dag"]["tags"], json!([tag]));
            assert_eq!(only("dag_version", dag_id)["version_number"], 1);
            let file = if tag == "d" { "c" } else { tag.as_str().expect("a tag is a text") };
            format!("{file}.py")
        };
        for dag_id in ["in_two_files", "twice_in_a_file"] {
            let file = file_by_tag(dag_id);
            assert_eq!(only("dag", dag_id)["relative_fileloc"], file);
            assert_eq!(only("dag", dag_id)["is_stale"], false);
            assert_eq!(only("serialized_dag", dag_id)["data"]["dag"]["relative_fileloc"], file);
        }
        // Airflow's own parser takes no offence at either.
        assert_eq!(observer.import_errors(), serde_json::Map::new());
    }
}
