//! Our hash of a DAG is Airflow's.

use ferroflow_db::Json;
use ferroflow_model::stored_dag::ParsedDag;
use ferroflow_testkit::{Airflow, repository};
use serde_json::Value;
use uuid::Uuid;

#[test]
fn every_document_has_the_hash_that_airflow_gives_it() {
    // The examples bring plugins, which are there only if the examples are.
    let airflow = Airflow::on("sqlite:////nowhere/airflow.db").with("AIRFLOW__CORE__LOAD_EXAMPLES", "True");
    let folder = repository("testdata/serialized");
    let mut arguments = vec![folder.join("dags")];
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    arguments.extend(files.filter(|path| path.extension().is_some_and(|extension| extension == "json")));
    let arguments: Vec<&str> = arguments.iter().map(|path| path.to_str().unwrap()).collect();
    let output = airflow.python("testdata/serialized/serialize.py", &arguments, "").expect_success();
    let mut documents: Vec<String> = output
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["document"].as_str().unwrap().replace('\n', " ")
        })
        .collect();
    documents.extend(hard_documents());
    let hashes =
        airflow.python("testdata/store/hashes.py", &[], &(documents.join("\n") + "\n")).expect_success();
    let hashes: Vec<&str> = hashes.lines().collect();
    assert_eq!(hashes.len(), documents.len());
    assert!(documents.len() > 100, "{} documents", documents.len());
    for (document, expected) in documents.iter().zip(hashes) {
        let dag = ParsedDag::read(&Json::from_text(document.clone()).unwrap()).unwrap();
        let ids: Vec<Uuid> = (1..).map(Uuid::from_u128).take(dag.deadlines.len()).collect();
        assert_eq!(dag.stored_form(&ids).hash, expected, "{document}");
    }
}

/// What is easily written in another way than Python's.
fn hard_documents() -> Vec<String> {
    let text = std::fs::read_to_string(repository("testdata/serialized/tutorial.json")).unwrap();
    let plain = serde_json::from_str::<Value>(&text).unwrap().to_string();
    let hard = [
        r#"["\ud83d\ude00", "\uff21", "a\u007f", "\u001f\b\f\u0000", "é", "\"\\/", "😀"]"#,
        r#"{"\ud83d\ude00": 1, "\uff21": 2, "": 3, "B": 4, "a": 5}"#,
        "[1e-06, 1e-05, 0.0001, 1e+16, 1e+22, 1.5e+300, -0.0, 0.1, 5e-324]",
        "[123456789012345678901234567890, -9223372036854775809, 18446744073709551615, 1.0, 1]",
        r#"["NaN", "Infinity", "-Infinity", "nan"]"#,
        r#"[[], {}, [["b", "a"]], [{"__var": {"task_id": "b"}}, {"__var": {"task_id": "a"}}]]"#,
        r#"[{"__var": {"task_id": "b"}}, {"__var": {"x": 1}}, {"__var": null}]"#,
        r#"[["b", "a"], "c", null, true]"#,
    ];
    // Python writes anew what it has read, so the numbers here are as it writes them.
    hard.iter()
        .map(|value| plain.replacen(r#""dag":{"#, &format!(r#""dag":{{"hard": {value}, "#), 1))
        .collect()
}
