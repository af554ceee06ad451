//! What callbacks see, beside what the official processor has them see.

use ferroflow_python::ParseOutcome;
use ferroflow_testkit::Airflow;
use serde_json::{Value, json};

use crate::bridge::support::Bridge;

const TELLS: &str = "
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator

def tell(context):
    print('seen', repr(context['dag_run']), repr(context['data_interval_end']), context['ts'])

with DAG('tells', schedule=None, on_failure_callback=tell) as dag:
    EmptyOperator(task_id='only', on_failure_callback=tell)
";

/// Hands the callbacks on its input to a file as the official processor does: read from their rows, sent to a child in
/// a frame, and read there.
const OFFICIAL: &str = "
import json, sys
from pathlib import Path
import msgspec, structlog
from airflow.callbacks.callback_requests import DagCallbackRequest, TaskCallbackRequest
from airflow.dag_processing.processor import DagFileParseRequest, ToDagProcessor, _parse_file
from airflow.sdk.execution_time.comms import _ResponseFrame
from pydantic import TypeAdapter

kinds = {kind.__name__: kind for kind in (DagCallbackRequest, TaskCallbackRequest)}
callbacks = [kinds[data['type']].from_json(json.dumps(data)) for data in json.load(sys.stdin)]
file = Path(sys.argv[1])
sent = DagFileParseRequest(
    file=str(file), bundle_path=file.parent, bundle_name='tests', callback_requests=callbacks
)
frame = _ResponseFrame(id=0, body=sent.model_dump()).as_bytes()
body = msgspec.msgpack.decode(bytes(frame[4:]), type=_ResponseFrame).body
_parse_file(TypeAdapter(ToDagProcessor).validate_python(body), structlog.get_logger())
";

#[tokio::test]
async fn times_have_the_zone_that_the_official_processor_gives_them() {
    let bridge = Bridge::shared().await;
    let mut request = bridge.request("dag_file.py", TELLS);
    let callbacks = requests();
    request.callbacks.extend(callbacks.iter().cloned().map(Into::into));
    assert_eq!(bridge.parse(&request).await.outcome, ParseOutcome::CallbacksRun);
    let lines = bridge.lines.0.lock().unwrap();
    let ours: Vec<&str> =
        lines.iter().map(|(_, line)| line.as_str()).filter(|line| line.starts_with("seen ")).collect();
    assert_eq!(ours.len(), 2, "{lines:?}");

    let script = bridge.file("official.py", OFFICIAL);
    let database = format!("sqlite:///{}/airflow.db", bridge.folder.path().display());
    let airflow = Airflow::on(&database).with("AIRFLOW_HOME", bridge.home.to_str().unwrap());
    let (script, file) = (script.to_str().unwrap(), request.file.to_str().unwrap());
    let output = airflow.python(script, &[file], &Value::Array(callbacks).to_string()).expect_success();
    let official: Vec<&str> = output.lines().filter(|line| line.starts_with("seen ")).collect();
    assert_eq!(ours, official);
    assert!(ours.iter().all(|line| !line.contains("TzInfo")), "{ours:?}");
}

/// One that a run has left and one of a task, with a time wherever there is room for one.
fn requests() -> Vec<Value> {
    let (id, time) = ("01890a5d-ac96-774b-bcce-b302099a8057", "2026-01-02T03:04:05.000006Z");
    let instance = json!({
        "id": id, "dag_version_id": id, "task_id": "only", "dag_id": "tells", "run_id": "r1", "try_number": 1,
        "map_index": -1, "hostname": null, "context_carrier": {},
    });
    let event = json!({
        "asset": {"name": "a", "uri": "a", "extra": {}}, "extra": {}, "source_task_id": null,
        "source_dag_id": null, "source_run_id": null, "source_map_index": null, "source_aliases": [],
        "timestamp": time,
    });
    let run = json!({
        "dag_id": "tells", "run_id": "r1", "run_type": "manual", "state": "failed", "conf": {"when": time},
        "logical_date": time, "data_interval_start": time, "data_interval_end": time, "run_after": time,
        "start_date": time, "end_date": time, "partition_key": null, "partition_date": time, "consumed_asset_events": [event],
    });
    let common = |kind: &str| json!({"type": kind, "filepath": "dag_file.py", "bundle_name": "tests", "bundle_version": null, "msg": null});
    let mut of_run = common("DagCallbackRequest");
    of_run["dag_id"] = "tells".into();
    of_run["run_id"] = "r1".into();
    of_run["is_failure_callback"] = true.into();
    of_run["context_from_server"] = json!({"dag_run": run, "last_ti": instance});
    let mut of_task = common("TaskCallbackRequest");
    of_task["ti"] = instance;
    of_task["task_callback_type"] = "failed".into();
    of_task["context_from_server"] = json!({"dag_run": run, "max_tries": 0, "start_date": time});
    vec![of_run, of_task]
}
