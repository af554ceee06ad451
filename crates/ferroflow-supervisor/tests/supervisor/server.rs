//! An Execution API that is not the database: it keeps what it is told in memory, and can be away.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::AbortHandle;

/// The server, which listens until it is dropped or [away](Self::go_away).
pub(crate) struct Server {
    pub(crate) socket: PathBuf,
    state: Arc<Mutex<State>>,
    listening: Mutex<Option<AbortHandle>>,
}

/// What it knows.
#[derive(Default)]
struct State {
    /// The state of each task instance, by id.
    instances: HashMap<String, Instance>,
    variables: HashMap<String, String>,
    xcoms: HashMap<String, Value>,
    /// All that was asked, and not refused.
    calls: Vec<(String, Value)>,
    /// The method that is answered by nothing, once: the connection is closed after it was done.
    loses_answer_to: Option<&'static str>,
}

/// A task instance.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) state: String,
    pub(crate) should_retry: bool,
    pub(crate) token: String,
    process: Value,
}

type Refused = (u16, Value);

impl Server {
    pub(crate) fn new(folder: &Path) -> Self {
        let server =
            Self { socket: folder.join("api.sock"), state: Arc::default(), listening: Mutex::default() };
        server.come_back();
        server
    }

    /// Nobody listens any more.
    pub(crate) fn go_away(&self) {
        if let Some(listening) = self.listening.lock().unwrap().take() {
            listening.abort();
        }
        let _ = std::fs::remove_file(&self.socket);
    }

    pub(crate) fn come_back(&self) {
        let listener = UnixListener::bind(&self.socket).unwrap();
        let state = Arc::clone(&self.state);
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&state)));
            }
        });
        *self.listening.lock().unwrap() = Some(listening.abort_handle());
    }

    pub(crate) fn add(&self, id: &str, instance: Instance) {
        self.state().instances.insert(id.to_owned(), instance);
    }

    pub(crate) fn set_instance_state(&self, id: &str, state: &str) {
        self.state().instances.get_mut(id).unwrap().state = state.to_owned();
    }

    pub(crate) fn forget(&self, id: &str) {
        self.state().instances.remove(id);
    }

    pub(crate) fn set_variable(&self, key: &str, value: &str) {
        self.state().variables.insert(key.to_owned(), value.to_owned());
    }

    pub(crate) fn lose_answer_to(&self, method: &'static str) {
        self.state().loses_answer_to = Some(method);
    }

    pub(crate) fn instance_state(&self, id: &str) -> String {
        self.state().instances[id].state.clone()
    }

    pub(crate) fn xcom(&self, task_id: &str) -> Option<Value> {
        self.state().xcoms.get(task_id).cloned()
    }

    /// The parameters of all calls of a method.
    pub(crate) fn calls(&self, method: &str) -> Vec<Value> {
        let state = self.state();
        state.calls.iter().filter(|(called, _)| called == method).map(|(_, params)| params.clone()).collect()
    }

    pub(crate) async fn until_called(&self, method: &str) {
        while self.calls(method).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.go_away();
    }
}

impl Instance {
    pub(crate) fn new(state: &str, should_retry: bool, token: &str) -> Self {
        Self { state: state.to_owned(), should_retry, token: token.to_owned(), process: Value::Null }
    }
}

async fn serve(mut stream: UnixStream, state: Arc<Mutex<State>>) {
    let mut request = String::new();
    if stream.read_to_string(&mut request).await.is_err() {
        return;
    }
    let request: Value = serde_json::from_str(&request).unwrap();
    let method = request["method"].as_str().unwrap();
    let (answer, is_lost) = {
        let mut state = state.lock().unwrap();
        let answer = state.answer(method, &request["params"], &request["token"]);
        let is_lost = state.loses_answer_to == Some(method);
        if is_lost {
            state.loses_answer_to = None;
        }
        (answer, is_lost)
    };
    if is_lost {
        return;
    }
    let answer = match answer {
        Ok(answer) => json!({"ok": answer}),
        Err((status, detail)) => json!({"refused": {"status": status, "detail": detail}}),
    };
    let _ = stream.write_all(answer.to_string().as_bytes()).await;
}

impl State {
    fn answer(&mut self, method: &str, params: &Value, token: &Value) -> Result<Value, Refused> {
        let answer = match method {
            "run" => self.run(params, token)?,
            "heartbeat" => self.heartbeat(params)?,
            "set_state" => self.set_state(params)?,
            "variable" => json!(self.variables.get(params["key"].as_str().unwrap())),
            "set_xcom" => {
                let new = &params["new"];
                let task_id = new["address"]["task_id"].as_str().unwrap();
                self.xcoms.insert(task_id.to_owned(), new["value"].clone());
                Value::Null
            }
            "xcom" => json!(self.xcoms.get(params["address"]["task_id"].as_str().unwrap())),
            "set_rendered_fields" | "delete_xcom" => Value::Null,
            other => return Err((404, json!(format!("no such operation: {other}")))),
        };
        self.calls.push((method.to_owned(), params.clone()));
        Ok(answer)
    }

    fn run(&mut self, params: &Value, token: &Value) -> Result<Value, Refused> {
        let instance = self.instance(params)?;
        if *token != instance.token {
            return Err((403, json!("Invalid auth token")));
        }
        let request = &params["request"];
        let process = json!([request["hostname"], request["pid"]]);
        let is_again = instance.state == "running" && instance.process == process;
        if instance.state != "queued" && !is_again {
            return Err((409, json!({"reason": "invalid_state", "previous_state": instance.state})));
        }
        (instance.state, instance.process) = ("running".to_owned(), process);
        let when = "2026-01-02T03:04:05.000006Z";
        Ok(json!({
            "dag_run": {
                "dag_id": "remote", "run_id": "run", "logical_date": when, "data_interval_start": when,
                "data_interval_end": when, "run_after": when, "start_date": when, "end_date": null,
                "clear_number": 0, "run_type": "manual", "state": "running", "conf": {"a": 1},
                "triggering_user_name": null, "consumed_asset_events": [], "partition_key": null,
                "partition_date": null, "note": null, "team_name": null,
            },
            "task_reschedule_count": 0, "max_tries": i32::from(instance.should_retry), "variables": [],
            "connections": [], "xcom_keys_to_clear": [], "should_retry": instance.should_retry,
        }))
    }

    fn heartbeat(&mut self, params: &Value) -> Result<Value, Refused> {
        let instance = self.instance(params)?;
        if instance.state != "running" {
            let detail = json!({"reason": "not_running", "current_state": instance.state});
            return Err((409, detail));
        }
        Ok(Value::Null)
    }

    fn set_state(&mut self, params: &Value) -> Result<Value, Refused> {
        let state = params["update"]["state"].as_str().unwrap().to_owned();
        let instance = self.instance(params)?;
        if instance.state != state {
            if instance.state != "running" {
                return Err((409, json!({"reason": "invalid_state", "previous_state": instance.state})));
            }
            instance.state = state;
        }
        Ok(Value::Null)
    }

    fn instance(&mut self, params: &Value) -> Result<&mut Instance, Refused> {
        let id = params["id"].as_str().unwrap();
        self.instances.get_mut(id).ok_or_else(|| (404, json!({"reason": "not_found"})))
    }
}
