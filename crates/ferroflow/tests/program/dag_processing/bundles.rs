//! Bundles whose classes fail or hang keep no other waiting, and are there as soon as they can be used.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, simple_dag, wait_until};
use serde_json::json;

use crate::dag_processing::FERROFLOW;

const CLASSES: &str = "\
import os
import time
from airflow.dag_processing.bundles.local import LocalDagBundle

class Fails(LocalDagBundle):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if not os.path.exists(os.environ['WELL']):
            raise RuntimeError('it is not well yet')

class Hangs(LocalDagBundle):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        while not os.path.exists(os.environ['WELL']):
            time.sleep(0.1)
";

#[tokio::test]
async fn a_bundle_that_fails_or_hangs_at_first_is_served_later_and_others_at_once() {
    let place = Place::on(Server::Sqlite).await;
    let root = place.root().to_owned();
    let bundle = |name: &str, classpath: &str| {
        std::fs::create_dir_all(root.join(name)).expect("a folder is made");
        std::fs::write(root.join(name).join("file.py"), simple_dag(&format!("in_{name}"))).expect("a file");
        json!({"name": name, "classpath": classpath, "kwargs": {"path": root.join(name)}})
    };
    let local = "airflow.dag_processing.bundles.local.LocalDagBundle";
    let list = json!([
        bundle("a_fails", "sick_bundles.Fails"),
        bundle("b_hangs", "sick_bundles.Hangs"),
        bundle("main", local),
    ]);
    std::fs::create_dir(root.join("modules")).expect("a folder is made");
    std::fs::write(root.join("modules/sick_bundles.py"), CLASSES).expect("a module is written");
    let place = place
        .with("PYTHONPATH", &root.join("modules").display().to_string())
        .with("WELL", &root.join("well").display().to_string())
        .with("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", &list.to_string())
        .with("AIRFLOW__FERROFLOW__BUNDLE_TIMEOUT", "3600");
    let mut running = place.start(FERROFLOW, &["dag-processor"]);
    let mut observer = place.observe();
    let others = wait_until(60, || observer.serialized() == ["in_main"]);
    assert!(others, "{:?}\n{}", observer.serialized(), running.log());
    assert!(wait_until(30, || running.log().contains("it is not well yet")), "{}", running.log());

    std::fs::write(root.join("well"), "").expect("a file is made");
    let all = wait_until(60, || observer.serialized() == ["in_a_fails", "in_b_hangs", "in_main"]);
    assert!(all, "{:?}\n{}", observer.serialized(), running.log());
    running.terminate();
    assert_eq!(running.wait_for_end(30), Some(0), "{}", running.log());
}

const CALLS_BACK: &str = "\
import os
from datetime import datetime
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

def tell(context):
    with open(os.environ['CALLED'], 'a') as called:
        called.write(context['run_id'])

with DAG('calls_back', schedule=None, start_date=datetime(2024, 1, 1), on_failure_callback=tell):
    EmptyOperator(task_id='only')
";

/// Its folder cannot be had at first: the callback is not lost.
#[tokio::test]
async fn a_callback_waits_for_its_bundle() {
    let place = Place::on(Server::Sqlite).await;
    let root = place.root().to_owned();
    std::fs::create_dir(root.join("modules")).expect("a folder is made");
    std::fs::write(root.join("modules/sick_bundles.py"), CLASSES).expect("a module is written");
    let kwargs = json!({"path": root.join("main")});
    let list = json!([{"name": "main", "classpath": "sick_bundles.Fails", "kwargs": kwargs}]);
    let place = place
        .with("PYTHONPATH", &root.join("modules").display().to_string())
        .with("WELL", &root.join("well").display().to_string())
        .with("CALLED", &root.join("called").display().to_string())
        .with("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", &list.to_string());
    place.write("calls_back.py", CALLS_BACK);
    let mut observer = place.observe();
    observer.ask(&json!(["add_dag_callbacks", "calls_back", "calls_back.py", 0, 1]));
    let running = place.start(FERROFLOW, &["dag-processor"]);
    let waits = wait_until(60, || running.log().contains("a callback waits until its bundle can be used"));
    assert!(waits, "{}", running.log());
    std::fs::write(root.join("well"), "").expect("a file is made");
    let lines = || std::fs::read_to_string(root.join("called")).unwrap_or_default();
    assert!(wait_until(90, || lines() == "run 0"), "{}", running.log());
}
