//! DAGs as a DAG processor stores them.

use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::notifications::{Notification, Receiver};
use ferroflow_db::{Json, ScopedFutureExt as _, dag};
use ferroflow_testkit::rows::a_dag;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::fixture::Fixture;

/// When everything was stored.
const STORED: Timestamp = Timestamp::constant(1_704_067_200, 0);

/// The timetable of a run for each day.
pub(crate) fn daily() -> Value {
    let fields = json!({"expression": "0 0 * * *", "timezone": "UTC"});
    json!({"__type": "airflow.timetables.interval.CronDataIntervalTimetable", "__var": fields})
}

/// One that only Python can evaluate.
pub(crate) fn of_user_code() -> Value {
    json!({"__type": "plugin.Lunar", "__var": {}})
}

impl Fixture {
    /// Stores a DAG with the tasks `first` and, after it, `second`.
    pub(crate) async fn store(&self, dag_id: &str, timetable: Value) {
        let document = document(dag_id, timetable).to_string();
        let version = &NewDagVersion {
            dag_id: dag_id.to_owned(),
            bundle_name: Some("dags-folder".to_owned()),
            bundle_version: None,
            version_data: None,
        };
        let stored = self.operations.db.transact(|tx| {
            let document = document.clone();
            async move {
                ferroflow_db::dag_bundle::insert_if_missing(tx, "dags-folder").await?;
                dag::insert(tx, &a_dag(dag_id)).await?;
                let dag_version_id = dag_version::insert(tx, version, STORED).await?;
                let serialized = NewSerializedDag {
                    dag_id: dag_id.to_owned(),
                    dag_version_id,
                    dag_hash: dag_version_id.simple().to_string(),
                    data: Json::from_text(document).unwrap(),
                };
                serialized_dag::insert(tx, &serialized, false, STORED).await.map(drop)
            }
            .scope_boxed()
        });
        stored.await.unwrap();
    }
}

/// What was notified since the receiver asked for it.
pub(crate) fn notified(receiver: &mut Receiver) -> Vec<Notification> {
    std::iter::from_fn(|| receiver.try_recv().ok()).collect()
}

fn document(dag_id: &str, timetable: Value) -> Value {
    let tasks = ["first", "second"];
    let children: Map<String, Value> =
        tasks.iter().map(|task_id| ((*task_id).to_owned(), json!(["operator", task_id]))).collect();
    let task = |task_id: &str, downstream: &[&str]| {
        let fields = json!({
            "task_id": task_id, "task_type": "EmptyOperator", "_task_module": "m",
            "downstream_task_ids": downstream,
        });
        json!({"__type": "operator", "__var": fields})
    };
    json!({"__version": 3, "dag": {
        "dag_id": dag_id, "fileloc": "/dags/a.py", "relative_fileloc": "a.py", "timezone": "UTC",
        "start_date": STORED.as_second(), "catchup": false, "timetable": timetable,
        "tasks": [task("first", &["second"]), task("second", &[])],
        "dag_dependencies": [], "edge_info": {}, "params": [],
        "task_group": {"_group_id": null, "prefix_group_id": false, "tooltip": "", "ui_color": "a",
            "ui_fgcolor": "b", "children": children, "upstream_group_ids": [], "downstream_group_ids": [],
            "upstream_task_ids": [], "downstream_task_ids": []},
    }})
}
