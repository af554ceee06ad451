//! Bundles whose classes fail or hang keep no other waiting, and are there as soon as they can be used.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, simple_dag, wait_until};
use serde_json::json;

use crate::FERROFLOW;

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
