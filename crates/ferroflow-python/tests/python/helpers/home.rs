//! Helpers in an Airflow home.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use ferroflow_python::{ForkServer, ForkServerOptions};
use ferroflow_testkit::{Server, TestDb, given};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

const PLUGINS: [&str; 4] =
    ["bad_timetables.py", "own_backend.py", "own_parts.py", "uneven_intervals_timetable.py.txt"];
const LOCAL: &str = "airflow.dag_processing.bundles.local.LocalDagBundle";

/// An Airflow home with plugins and a database, and a fork server at work in it.
pub(crate) struct Home {
    folder: PathBuf,
    pub(crate) server: ForkServer,
}

impl Home {
    /// The one that all tests can share: it takes seconds to load Airflow. It ends with this process.
    pub(crate) async fn shared() -> &'static Self {
        static HOME: OnceCell<Home> = OnceCell::const_new();
        // Nothing of a process is dropped at its end: in this folder the next one finds what is left.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("helpers");
        let list = bundles();
        HOME.get_or_init(|| Self::with_bundles(&folder, &list)).await
    }

    /// One in this folder with this list of bundles.
    pub(crate) async fn with_bundles(folder: &Path, list: &Value) -> Self {
        let plugins = folder.join("plugins");
        std::fs::create_dir_all(&plugins).unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/helpers/plugins");
        for name in PLUGINS {
            std::fs::copy(sources.join(name), plugins.join(name.trim_end_matches(".txt"))).unwrap();
        }
        let db = TestDb::migrated(Server::Sqlite).await;
        db.execute(
            "INSERT INTO connection (conn_id, conn_type, host, is_encrypted, is_extra_encrypted)
             VALUES ('where_dags_are', 'generic', '/srv/from_the_database', false, false)",
        )
        .await;
        let database = folder.join("airflow.db");
        for left in ["airflow.db", "airflow.db-wal", "airflow.db-shm"] {
            let _ = std::fs::remove_file(folder.join(left));
        }
        // Not a copy of the file: what was just written may stand in the log beside it.
        db.execute(format!("VACUUM INTO '{}'", database.display())).await;
        let mut options = ForkServerOptions::new(python());
        options.inherit_environment = false;
        options.boot_timeout = Duration::from_mins(5);
        let set = |name: &str, value: &str| (name.into(), value.into());
        options.environment = vec![
            set("PATH", "/usr/bin:/bin"),
            // Airflow loads a secrets backend before it has heard of its plugins.
            set("PYTHONPATH", plugins.to_str().unwrap()),
            set("AIRFLOW_HOME", folder.to_str().unwrap()),
            set("AIRFLOW__CORE__LOAD_EXAMPLES", "False"),
            set("AIRFLOW__CORE__FERNET_KEY", "QmFzZTY0X29mXzMyX2J5dGVzX2Zvcl90ZXN0c18xMjM="),
            set("AIRFLOW__CORE__MIGHT_CONTAIN_DAG_CALLABLE", "own_parts.is_wanted"),
            set("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", &list.to_string()),
            set("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", &format!("sqlite:///{}", database.display())),
            set("AIRFLOW__SECRETS__BACKEND", "own_backend.OwnBackend"),
            // The environment is not for Python to look into.
            set("AIRFLOW_VAR_OTHER", "from the environment"),
        ];
        // What talks with the fork server outlives the test that comes first.
        let server = runtime().spawn(ForkServer::start(options)).await.unwrap().unwrap();
        Self { folder: folder.to_owned(), server }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

fn bundles() -> Value {
    let template = "https://git.example/tree/{version}/{folder_name}";
    let own = |name: &str, kwargs: Value| json!({"name": name, "classpath": "own_parts.OwnBundle", "kwargs": kwargs});
    json!([
        {"name": "plain", "classpath": LOCAL, "kwargs": {}},
        own("own", json!({"folder": "/srv/dags", "refresh_interval": 7, "view_url_template": template})),
        own("slow", json!({"folder": "/srv"})),
        own("fast", json!({"folder": "/srv"})),
        {"name": "connected", "classpath": "own_parts.ConnectedBundle", "kwargs": {}},
    ])
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().unwrap())
}

/// The Python with the official Airflow.
fn python() -> PathBuf {
    Path::new(&given("VENV")).join("bin/python")
}
