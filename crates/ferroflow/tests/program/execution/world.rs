//! A database and a home in which DAGs find the same around them as they did with official Airflow.

use std::path::{Path, PathBuf};
use std::process::Command;

use ferroflow_config::Environment;
use ferroflow_testkit::{Server, TestDb, finish_warm, given, repository};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) database: TestDb,
    root: TempDir,
    variables: Vec<(String, String)>,
}

impl World {
    pub(crate) async fn on(server: Server) -> Self {
        let database = TestDb::migrated(server).await;
        let root = TempDir::new().expect("a temporary folder is made");
        for folder in ["home", "temporary"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder is made");
        }
        let mut world = Self { database, root, variables: Vec::new() };
        let given: Value = serde_json::from_str(&world.python("world.py", &["environment"])).expect("JSON");
        for (name, value) in given.as_object().expect("variables have names") {
            world.set(name, value.as_str().expect("a text"));
        }
        let (url, path) = (world.database.url(), search_path());
        let bin = python().parent().expect("it is in a folder").display().to_string();
        world.set("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", &url);
        // The Python that has Airflow is the first to be found.
        world.set("PATH", &format!("{bin}:{path}"));
        for (name, place) in [
            ("AIRFLOW_HOME", "home"),
            ("HOME", "home"),
            ("TMPDIR", "temporary"),
            ("FERROFLOW_TRACE_FILE", "trace"),
        ] {
            let place = world.root.path().join(place);
            world.set(name, place.to_str().expect("UTF-8"));
        }
        world.python("world.py", &["seed", &url]);
        world
    }

    /// With a folder for DAGs, and no other.
    pub(crate) fn with_dags_of_its_own(mut self) -> Self {
        let folder = self.root.path().join("dags");
        std::fs::create_dir(&folder).expect("a folder is made");
        let bundle = json!([{
            "name": "dags-folder",
            "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
            "kwargs": {"path": folder},
        }]);
        self.set("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", &bundle.to_string());
        self.set("AIRFLOW__CORE__LOAD_EXAMPLES", "False");
        self
    }

    /// Writes a file into that folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.path().join("dags").join(name);
        std::fs::write(&path, text).expect("the file is written");
        path
    }

    /// What the configuration is read from.
    pub(crate) fn environment(&self) -> Environment {
        let empty = Environment::empty(self.root.path()).with("USER", "somebody");
        self.variables.iter().fold(empty, |all, (name, value)| all.with(name, value))
    }

    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// What these DAGs have left, in the form of the recordings.
    pub(crate) fn rows(&self, dag_ids: &[String]) -> Value {
        let root = format!("root={}", self.root.path().display());
        let trace = self.root.path().join("trace");
        let url = self.database.url();
        let mut arguments = vec!["--mask", &root, "--trace", trace.to_str().expect("UTF-8"), &url];
        arguments.extend(dag_ids.iter().map(String::as_str));
        serde_json::from_str(&self.python("rows.py", &arguments)).expect("rows.py prints JSON")
    }

    /// A command whose surroundings are these alone.
    pub(crate) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    fn python(&self, script: &str, arguments: &[&str]) -> String {
        let script = repository("testdata/execution").join(script);
        let mut command = self.command(&python(), &[script.to_str().expect("UTF-8")]);
        finish_warm(command.args(arguments), "").expect_success()
    }
}

/// The Python that has Airflow.
pub(crate) fn python() -> PathBuf {
    Path::new(&given("VENV")).join("bin/python")
}

fn search_path() -> String {
    let process = Environment::from_process();
    process.var("PATH").expect("there is a search path").to_owned()
}
