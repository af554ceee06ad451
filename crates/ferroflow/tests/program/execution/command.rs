//! `ferroflow dags test` leaves the same as what the other tests drive, and ends accordingly.

use std::path::Path;

use ferroflow_testkit::{Server, finish, repository};
use serde_json::{Value, json};

use crate::execution::FERROFLOW;
use crate::execution::differences::differences;
use crate::execution::plan::{PlannedRun, recorded, waves};
use crate::execution::world::World;

async fn the_command_does_the_same(server: Server, dags: &[(&str, &str)]) {
    let world = World::on(server).await;
    for (dag_id, file) in dags {
        let planned = planned(dag_id);
        let file = repository("testdata/execution/dags").join(file);
        let conf = planned.conf.clone().map(|conf| Value::Object(conf).to_string());
        let mut arguments =
            vec!["dags", "test", dag_id, &planned.date_text, "-f", file.to_str().expect("UTF-8")];
        arguments.extend(conf.iter().flat_map(|conf| ["--conf", conf]));
        let finished = finish(&mut world.command(Path::new(FERROFLOW), &arguments), "");
        let theirs = &recorded("own")["dags"][dag_id];
        let their_run = &theirs["runs"][planned.run_id()];
        assert_eq!(finished.success(), their_run["state"] == "success", "{dag_id}: {finished:#?}");
        let ours = world.rows(&[(*dag_id).to_owned()]);
        // The command's runs are named by the moment.
        let ours = ours["dags"][dag_id].to_string().replace("manual__<moment>", &planned.run_id());
        let mut ours: Value = serde_json::from_str(&ours).expect("still JSON");
        let our_run = &mut ours["runs"][planned.run_id()];
        assert_eq!(our_run["run_after"], json!("<moment>"));
        our_run["run_after"] = their_run["run_after"].clone();
        let found = differences(
            &json!({"runs": {planned.run_id(): their_run}, "trace": theirs["trace"]}),
            &json!({"runs": ours["runs"], "trace": ours["trace"]}),
        );
        assert!(
            found.is_empty(),
            "{dag_id}\n{}",
            found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        );
    }
}

/// The last of the planned runs of a DAG.
fn planned(dag_id: &str) -> PlannedRun {
    let mut runs = waves("own").into_iter().flatten();
    runs.rfind(|run| run.dag_id == dag_id).expect("it is planned")
}

#[tokio::test]
async fn on_sqlite() {
    let dags = [("params_given", "values.py"), ("callbacks", "callbacks.py")];
    the_command_does_the_same(Server::Sqlite, &dags).await;
}

#[tokio::test]
async fn on_postgres() {
    let dags = [("map_groups", "mapping.py"), ("flow_teardown_counts", "flow.py")];
    the_command_does_the_same(Server::Postgres, &dags).await;
}

const CRASHES: &str = "\
import ctypes
from airflow.sdk import DAG, task

with DAG('crashes', schedule=None):

    @task
    def reads_nowhere():
        ctypes.string_at(0)

    reads_nowhere()
";

/// With Airflow its process never ends: it has a handler for the signal, to which the crash returns.
#[tokio::test]
async fn native_code_that_crashes_fails_its_task_and_tells_where() {
    let world = World::on(Server::Sqlite).await.with_dags_of_its_own();
    let file = world.write("crashes.py", CRASHES);
    let arguments = ["dags", "test", "crashes", "-f", file.to_str().expect("UTF-8")];
    let finished = finish(&mut world.command(Path::new(FERROFLOW), &arguments), "");
    assert_eq!(finished.code, Some(1), "{finished:#?}");
    for told in ["Segmentation fault", "in reads_nowhere", "SIGSEGV"] {
        assert!(finished.stderr.contains(told), "{told} is not in {}", finished.stderr);
    }
}
