//! Files that are kept imported.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_python::{Sink, ZygoteFile, ZygoteLimits};

use crate::bridge::support::Bridge;

/// Together their names are longer than a packet.
const MODULES: usize = 600;

const ONE_EACH: ZygoteLimits = ZygoteLimits { import: Duration::from_mins(2), tasks_per_process: 1 };

fn named(path: &str) -> ZygoteFile {
    ZygoteFile { bundle: "dags-folder".to_owned(), version: None, path: path.to_owned() }
}

#[tokio::test]
async fn however_many_files_a_file_imports_each_is_looked_at() {
    let bridge = Bridge::shared().await;
    let dags = bridge.home.join("dags");
    let folder = dags.join("a_folder_with_a_rather_long_name_so_that_few_of_its_modules_fit_into_a_packet");
    std::fs::create_dir_all(&folder).unwrap();
    let file = |number: usize| -> PathBuf { folder.join(format!("helper_module_number_{number}.py")) };
    let package = folder.file_name().unwrap().to_str().unwrap();
    let mut text = "from airflow.sdk import DAG\ndag = DAG('importing', schedule=None)\n".to_owned();
    for number in 0..MODULES {
        std::fs::write(file(number), "").unwrap();
        writeln!(text, "import {package}.helper_module_number_{number}").unwrap();
    }
    std::fs::write(dags.join("importing.py"), text).unwrap();
    let sink: Arc<dyn Sink> = Arc::clone(&bridge.lines) as Arc<dyn Sink>;
    for number in [0, MODULES / 2, MODULES - 1] {
        let template = bridge.server.zygote(&named("importing.py"), ONE_EACH, &sink).await.unwrap();
        assert!(template.is_current());
        std::fs::write(file(number), format!("CHANGED = {number}")).unwrap();
        assert!(!template.is_current(), "module {number} is looked at");
    }
}

/// After some of them a template gathers its memory.
const FORKS: usize = 50;

#[tokio::test]
async fn a_template_that_is_much_used_goes_on_forking() {
    let bridge = Bridge::shared().await;
    let dags = bridge.home.join("dags");
    std::fs::create_dir_all(&dags).unwrap();
    std::fs::write(dags.join("used.py"), "from airflow.sdk import DAG\ndag = DAG('used', schedule=None)\n")
        .unwrap();
    let sink: Arc<dyn Sink> = Arc::clone(&bridge.lines) as Arc<dyn Sink>;
    let template = bridge.server.zygote(&named("used.py"), ONE_EACH, &sink).await.unwrap();
    for _ in 0..FORKS {
        let mut child = template.fork_task(&sink).await.unwrap();
        assert!(!child.has_hung_up());
        child.end().await.unwrap();
    }
    assert!(template.is_current());
}
