//! Example DAGs of our own, built into the binary.
//!
//! They are written into a folder of Airflow's home and reach the DAG processor as a bundle of this process alone: no file
//! of the user's is touched, and nobody else sees the bundle. Their timetable is a plugin; that of the user's is where
//! `[core] plugins_folder` says, so ours is found as an installed package's would be, by its entry point on Python's path.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use ferroflow_config::{Environment, Settings};
use serde_json::{Value, json};

/// The name of the bundle.
const BUNDLE: &str = "ferroflow_examples";

macro_rules! files {
    ($($path:literal),* $(,)?) => { [$(($path, include_str!(concat!("../../../standalone/", $path)))),*] };
}

const FILES: [(&str, &str); 9] = files![
    "dags/branch_by_minute.py",
    "dags/daily_sales.py",
    "dags/failure.py",
    "dags/mapped_words.py",
    "dags/orders.py",
    "dags/uneven_hours.py",
    "plugins/ferroflow_example_timetables.py",
    "plugins/ferroflow_example_plugins-1.dist-info/METADATA",
    "plugins/ferroflow_example_plugins-1.dist-info/entry_points.txt",
];

/// The folder that they are in.
pub(super) struct Examples(PathBuf);

impl Examples {
    /// Writes the files. One that is as it should be is left alone: its time tells when it changed.
    pub(super) fn write(airflow_home: &Path) -> Result<Self> {
        let folder = airflow_home.join("ferroflow-examples");
        for (path, text) in FILES {
            let file = folder.join(path);
            if fs_err::read_to_string(&file).is_ok_and(|there| there == text) {
                continue;
            }
            fs_err::create_dir_all(file.parent().unwrap_or(&folder))?;
            fs_err::write(&file, text)?;
        }
        Ok(Self(folder))
    }

    /// The DAG files.
    pub(super) fn dags(&self) -> PathBuf {
        self.0.join("dags")
    }

    /// What makes them known to this process, and to Python: the bundles that are configured and theirs, and the place
    /// of their plugin. Airflow's own examples are not wanted besides.
    pub(super) fn variables(
        &self,
        settings: &Settings,
        environment: &Environment,
    ) -> Vec<(OsString, OsString)> {
        let mut path = self.0.join("plugins").into_os_string();
        if let Some(given) = environment.var("PYTHONPATH").filter(|given| !given.is_empty()) {
            path.push(":");
            path.push(given);
        }
        let bundles = self.bundles(settings.dag_processor.dag_bundle_config_list.as_ref());
        [
            ("AIRFLOW__CORE__LOAD_EXAMPLES", OsString::from("False")),
            ("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", OsString::from(bundles.to_string())),
            ("PYTHONPATH", path),
        ]
        .map(|(name, value)| (OsString::from(name), value))
        .to_vec()
    }

    fn bundles(&self, configured: Option<&Value>) -> Value {
        let mut bundles = configured.and_then(Value::as_array).cloned().unwrap_or_default();
        bundles.push(json!({
            "name": BUNDLE,
            "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
            "kwargs": {"path": self.dags()},
        }));
        Value::Array(bundles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("standalone");
        let (mut there, mut folders) = (Vec::new(), vec![folder.clone()]);
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if path.is_dir() && !path.ends_with("__pycache__") {
                    folders.push(path);
                } else if path.is_file() {
                    there.push(path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        there.sort();
        let mut built_in = FILES.map(|(path, _)| path);
        built_in.sort_unstable();
        assert_eq!(there, built_in);
    }

    #[test]
    fn what_is_configured_stays() {
        let examples = Examples(PathBuf::from("/home/examples"));
        let own = json!([{"name": "mine", "classpath": "somewhere.Bundle", "kwargs": {}}]);
        let names = |bundles: &Value| -> Vec<String> {
            let bundles = bundles.as_array().unwrap().iter();
            bundles.map(|bundle| bundle["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&examples.bundles(Some(&own))), ["mine", BUNDLE]);
        assert_eq!(examples.bundles(Some(&own))[1]["kwargs"]["path"], "/home/examples/dags");
        assert_eq!(names(&examples.bundles(None)), [BUNDLE]);
    }
}
