//! Calls of the API, each with the task instance that it is about.

use ferroflow_db::task_instance::TaskInstance;
use ferroflow_model::state::TaskState;
use jiff::ToSpan as _;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::seed::{Seeded, THEN, instance};

/// How an instance is to go on.
const NEXT: &str = "UPDATE task_instance SET next_method = 'm', next_kwargs = '{\"a\": 1}' WHERE id = '{id}'";

/// A call, and how it is called here.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) operation: &'static str,
    pub(crate) id: Uuid,
    pub(crate) body: Value,
    /// What the instance was before, for people.
    pub(crate) about: String,
}

impl Call {
    /// As it is over HTTP.
    pub(crate) fn over_http(&self) -> Value {
        let Self { operation, id, body, .. } = self;
        let of_instance = |method: &str, rest: &str| json!({"method": method, "path": format!("task-instances/{id}/{rest}"), "body": body});
        match *operation {
            "run" | "state" | "skip-downstream" | "rendered-map-index" => of_instance("PATCH", operation),
            "heartbeat" | "rtif" => of_instance("PUT", operation),
            "validate-inlets-and-outlets" => of_instance("GET", operation),
            "breadcrumbs" => {
                let path = "task-instances/breadcrumbs?dag_id=fast&run_id=two";
                json!({"method": "GET", "path": path, "body": null})
            }
            "start_date" => {
                let path = format!("task-reschedules/{id}/start_date?try_number=1");
                json!({"method": "GET", "path": path, "body": null})
            }
            other => panic!("no such call: {other}"),
        }
    }
}

/// The calls, in their order, and the instances that they are about.
#[derive(Default)]
pub(crate) struct Story {
    pub(crate) instances: Vec<Seeded>,
    pub(crate) calls: Vec<Call>,
    /// Those whose processes are gone in the end.
    pub(crate) gone: Vec<TaskInstance>,
}

pub(crate) fn story() -> Story {
    let mut story = Story::default();
    story.starts();
    story.transitions();
    story.ends();
    story.waits();
    story.pulses();
    story.fields();
    story.assets();
    story.failing_fast();
    story.gone();
    story
}

impl Story {
    fn number(&self) -> i32 {
        i32::try_from(self.instances.len()).unwrap()
    }

    /// An instance in a state, and the calls about it.
    fn add(&mut self, seeded: Seeded, calls: &[(&'static str, Value)]) -> Uuid {
        let id = seeded.instance.id;
        let about = format!("{:?}, {:?}", seeded.instance.state, seeded.more);
        for (operation, body) in calls {
            self.calls.push(Call { operation, id, body: body.clone(), about: about.clone() });
        }
        self.instances.push(seeded);
        id
    }

    fn next(&self, state: Option<TaskState>) -> Seeded {
        instance(self.number(), "run", state)
    }

    fn running(&self, more: &[&str]) -> Seeded {
        let mut seeded = self.next(Some(TaskState::Running));
        seeded.more = more.iter().map(|text| (*text).to_owned()).collect();
        seeded
    }

    fn starts(&mut self) {
        let run = || ("run", enter("host", 7));
        for state in std::iter::once(None).chain(TaskState::ALL.iter().copied().map(Some)) {
            self.add(self.next(state), &[run()]);
            self.add(self.next(state), &[("run", enter("elsewhere", 8)), ("run", enter("elsewhere", 8))]);
        }
        for (state, tries, max_tries) in [
            (TaskState::Queued, 1, 1),
            (TaskState::Queued, 2, 1),
            (TaskState::Queued, 0, 0),
            (TaskState::Restarting, 3, 1),
        ] {
            let mut seeded = self.next(Some(state));
            (seeded.instance.try_number, seeded.instance.max_tries) = (tries, max_tries);
            seeded.instance.retry_delay_override = Some(5.5);
            seeded.instance.retry_reason = Some("why".to_owned());
            self.add(seeded, &[run()]);
        }
        for kwargs in ["{}", r#"{"a": [1, {"b": null}]}"#, "null"] {
            let mut seeded = self.next(Some(TaskState::Queued));
            seeded.instance.next_method = Some("resume".to_owned());
            seeded.more =
                vec![format!("UPDATE task_instance SET next_kwargs = '{kwargs}' WHERE id = '{{id}}'")];
            self.add(seeded, &[run()]);
        }
        for map_index in ["", "of a copy"] {
            let mut seeded = self.next(Some(TaskState::Queued));
            if map_index.is_empty() {
                (seeded.instance.key.map_index, seeded.instance.key.run_id) = (-1, "late".to_owned());
            }
            for key in ["a", "b"] {
                seeded.more.push(format!(
                    "INSERT INTO xcom (dag_run_id, task_id, map_index, ^key^, dag_id, run_id, value, ^timestamp^) \
                     SELECT r.id, t.task_id, t.map_index, '{key}', t.dag_id, t.run_id, '1', '2023-01-01 00:00:00' \
                     FROM task_instance t JOIN dag_run r ON r.run_id = t.run_id WHERE t.id = '{{id}}'"
                ));
            }
            seeded.more.push(reschedule_row());
            self.add(seeded, &[run()]);
        }
        self.add_consumer();
        let missing =
            Call { operation: "run", id: Uuid::from_u128(5), body: enter("h", 1), about: "missing".into() };
        self.calls.push(missing);
    }

    /// The run `part` was made for an event that came through an alias.
    fn add_consumer(&mut self) {
        let mut seeded = instance(self.number(), "part", Some(TaskState::Queued));
        for statement in [
            "INSERT INTO asset_event (asset_id, extra, source_task_id, source_dag_id, source_run_id, \
             source_map_index, ^timestamp^, partition_key) SELECT id, '{^a^: 1}', 'x', 'y', 'z', 3, \
             '2023-01-01 00:00:00', 'key' FROM asset WHERE name = 'first'",
            "INSERT INTO asset_alias_asset_event (alias_id, event_id) \
             SELECT l.id, e.id FROM asset_alias l, asset_event e WHERE e.source_dag_id = 'y'",
            "INSERT INTO dagrun_asset_event (dag_run_id, event_id) \
             SELECT r.id, e.id FROM dag_run r, asset_event e WHERE r.run_id = 'part' AND e.source_dag_id = 'y'",
        ] {
            seeded.more.push(statement.replace("{^a^: 1}", "{\"a\": 1}"));
        }
        self.add(seeded, &[("run", enter("host", 7))]);
    }

    /// Every state told in every state.
    fn transitions(&mut self) {
        for state in std::iter::once(None).chain(TaskState::ALL.iter().copied().map(Some)) {
            for update in updates() {
                let is_running = state == Some(TaskState::Running);
                let calls = [("state", update.clone()), ("state", update)];
                self.add(self.next(state), if is_running { &calls } else { &calls[1..] });
            }
        }
        let gone = Uuid::from_u128(5);
        for update in updates() {
            self.calls.push(Call { operation: "state", id: gone, body: update, about: "missing".into() });
        }
    }

    fn ends(&mut self) {
        let end = (THEN + 90.minutes() + 500.milliseconds()).to_string();
        let named = |state: &str| json!({"state": state, "end_date": end, "rendered_map_index": "name"});
        for state in ["success", "failed", "skipped", "up_for_retry"] {
            self.add(self.running(&[]), &[("state", named(state))]);
        }
        let store = "INSERT INTO task_state_store (dag_run_id, task_id, map_index, ^key^, dag_id, run_id, value, \
                     updated_at) SELECT r.id, t.task_id, t.map_index, 'k', t.dag_id, t.run_id, '1', \
                     '2023-01-01 00:00:00' FROM task_instance t JOIN dag_run r ON r.run_id = t.run_id \
                     WHERE t.id = '{id}'";
        self.add(self.running(&[store]), &[("state", named("success"))]);
        let retry = json!({
            "state": "up_for_retry", "end_date": end, "retry_delay_seconds": 12.5, "retry_reason": "é".repeat(501),
        });
        let hitl = hitl_row("NULL");
        let id = self.add(self.running(&[NEXT, &reschedule_row(), &hitl]), &[("state", retry)]);
        self.archived(id);
        // The history has the try already: somebody cleared it.
        let history = "INSERT INTO task_instance_history (task_instance_id, dag_id, run_id, task_id, map_index, \
                       try_number, pool, pool_slots) SELECT '00000000000000000000000000000009', dag_id, run_id, \
                       task_id, map_index, try_number, pool, 1 FROM task_instance WHERE id = '{id}'";
        self.add(self.running(&[history]), &[("state", named("up_for_retry"))]);
    }

    /// Calls under the id of an earlier try.
    fn archived(&mut self, id: Uuid) {
        let fields = json!({"a": "b"});
        for (operation, body) in [
            ("heartbeat", json!({"hostname": "host", "pid": 7})),
            ("rtif", fields),
            ("run", enter("host", 7)),
            ("skip-downstream", json!({"tasks": ["next"]})),
            ("rendered-map-index", json!("x")),
            ("validate-inlets-and-outlets", Value::Null),
        ] {
            self.calls.push(Call { operation, id, body, about: "an earlier try".into() });
        }
    }

    fn waits(&mut self) {
        for (kwargs, timeout) in
            [(json!({"x": [1, 2.5, "é"]}), json!("P1DT2H")), (json!("gAAAA"), json!(60.5))]
        {
            let deferred = json!({
                "state": "deferred", "classpath": "a.B", "trigger_kwargs": kwargs, "trigger_timeout": timeout,
                "queue": "q", "next_method": "m", "next_kwargs": {"k": {"__classname__": "x"}},
                "rendered_map_index": "ignored",
            });
            self.add(self.running(&[]), &[("state", deferred)]);
        }
        let wait = json!({
            "state": "awaiting_input", "timeout": "PT5M", "next_method": "m", "next_kwargs": {"k": [1]},
        });
        let (open, answered) = (hitl_row("NULL"), hitl_row("'2023-05-06 07:08:09.5'"));
        self.add(self.running(&[&open]), &[("state", wait.clone())]);
        self.add(self.running(&[&answered]), &[("state", wait)]);
        let again = (THEN + 5.minutes()).to_string();
        let wish = json!({"state": "up_for_reschedule", "end_date": again, "reschedule_date": again});
        let id = self.add(self.running(&[&reschedule_row()]), &[("state", wish)]);
        self.calls.push(Call { operation: "start_date", id, body: Value::Null, about: "put off".into() });
        // Beyond what MySQL can hold.
        let wish = json!({"state": "up_for_reschedule", "end_date": again, "reschedule_date": "2040-01-01T00:00:00Z"});
        self.add(self.running(&[]), &[("state", wish)]);
        let none = Uuid::from_u128(5);
        self.calls.push(Call {
            operation: "start_date",
            id: none,
            body: Value::Null,
            about: "missing".into(),
        });
    }

    fn pulses(&mut self) {
        let beat = |hostname: &str, pid: i32| ("heartbeat", json!({"hostname": hostname, "pid": pid}));
        self.add(self.running(&[]), &[beat("host", 7), beat("other", 7), beat("host", 8)]);
        for state in [None, Some(TaskState::Restarting), Some(TaskState::Success)] {
            self.add(self.next(state), &[beat("host", 7), beat("other", 9)]);
        }
        let (operation, body) = beat("host", 7);
        self.calls.push(Call { operation, id: Uuid::from_u128(5), body, about: "missing".into() });
    }

    fn fields(&mut self) {
        let fields =
            json!({"z": "plain", "a": {"password": "open", "list": ["x", {"token": "t"}]}, "secret": 5});
        let name = |text: &str| ("rendered-map-index", json!(text));
        self.add(
            self.running(&[]),
            &[("rtif", json!({"first": 1})), ("rtif", fields.clone()), name("a name"), name("")],
        );
        self.add(self.running(&[]), &[("validate-inlets-and-outlets", Value::Null)]);
        let mut late = instance(self.number(), "late", Some(TaskState::Running));
        "next".clone_into(&mut late.instance.key.task_id);
        self.add(late, &[("rtif", fields.clone())]);
        let id = Uuid::from_u128(5);
        for (operation, body) in [
            ("rtif", fields),
            ("rendered-map-index", json!("x")),
            ("skip-downstream", json!({"tasks": ["next"]})),
            ("validate-inlets-and-outlets", Value::Null),
        ] {
            self.calls.push(Call { operation, id, body, about: "missing".into() });
        }
    }

    fn assets(&mut self) {
        let profile = |kind: &str, name: Option<&str>, uri: Option<&str>| json!({"name": name, "uri": uri, "type": kind});
        let asset = |name: &str| profile("Asset", Some(name), Some(&format!("s3://{name}")));
        let key = |name: &str| json!({"name": name, "uri": format!("s3://{name}")});
        let event = |name: &str, extra: Value| json!({"dest_asset_key": key(name), "extra": extra});
        let keyed = |partition_key: &str| json!({"dest_asset_key": key("keyed"), "extra": {}, "partition_key": partition_key});
        let through = |alias: &str, name: &str, extra: Value| json!({"source_alias_name": alias, "dest_asset_key": key(name), "dest_asset_extra": {"made": 1}, "extra": extra});
        let alias = |name: &str| profile("AssetAlias", Some(name), None);
        let (second_name, second_uri) = (
            profile("AssetNameRef", Some("second"), None),
            profile("AssetUriRef", None, Some("s3://second")),
        );
        let unknown = profile("AssetNameRef", Some("unknown"), None);
        let long = "x".repeat(251);
        for (run_id, outlets, events) in [
            ("run", json!([asset("first"), asset("unused"), asset("nowhere")]), json!([])),
            ("run", json!([second_name, second_uri, unknown]), json!([event("second", json!({"x": 1}))])),
            (
                "run",
                json!([asset("first")]),
                json!([event("first", json!({"n": 1})), event("first", json!({"n": 2}))]),
            ),
            ("run", json!([]), json!([event("first", json!({"unsaid": true}))])),
            ("run", json!([asset("keyed")]), json!([keyed("a"), keyed("b"), keyed("a")])),
            ("run", json!([asset("keyed")]), json!([])),
            ("part", json!([asset("keyed")]), json!([])),
            ("part", json!([asset("keyed")]), json!([keyed("2023-11-15T07"), keyed("2023-11-14T05")])),
            ("odd", json!([asset("keyed"), asset("first")]), json!([])),
            ("run", json!([asset("keyed")]), json!([keyed(" \t")])),
            ("run", json!([asset("keyed")]), json!([keyed(&long)])),
            ("run", json!([asset("keyed")]), json!([keyed(&long[1..])])),
            (
                "run",
                json!([alias("alias"), alias("other")]),
                json!([
                    through("alias", "first", json!({"b": 1, "a": 2})),
                    through("other", "first", json!({"a": 2, "b": 1})),
                    through("alias", "made", json!({})),
                    through("alias", "made", json!({"again": 1})),
                    through("undeclared", "first", json!({})),
                ]),
            ),
            ("part", json!([alias("alias")]), json!([through("alias", "keyed", json!({}))])),
            ("run", json!([asset("first")]), json!([{"dest_asset_key": key("first")}])),
            ("run", json!([asset("first")]), json!([{"dest_asset_key": {"name": "first"}, "extra": {}}])),
        ] {
            let seeded = instance(self.number(), run_id, Some(TaskState::Running));
            let success = json!({
                "state": "success", "end_date": end(), "task_outlets": outlets, "outlet_events": events,
            });
            self.add(seeded, &[("state", success)]);
        }
    }

    /// A run in which a task fails, and one whose tasks are skipped by one of them.
    fn failing_fast(&mut self) {
        for (run_id, last) in [
            ("one", ("state", json!({"state": "failed", "end_date": end()}))),
            (
                "two",
                ("skip-downstream", json!({"tasks": ["next", ["clean", 4], ["clean", 6], ["clean", 7]]})),
            ),
        ] {
            let mut of =
                |task_id: &str, map_index: i32, state: Option<TaskState>, calls: &[(&'static str, Value)]| {
                    let mut seeded = self.next(state);
                    let key = &mut seeded.instance.key;
                    (key.dag_id, key.run_id) = ("fast".to_owned(), run_id.to_owned());
                    (key.task_id, key.map_index) = (task_id.to_owned(), map_index);
                    self.add(seeded, calls);
                };
            of("next", -1, None, &[]);
            let states = [TaskState::Scheduled, TaskState::Queued, TaskState::Success, TaskState::Failed];
            for (index, state) in (0..).zip(states.into_iter().chain([TaskState::UpForRetry])) {
                of("next", index, Some(state), &[]);
                of("clean", index, Some(state), &[]);
            }
            of("clean", 6, None, &[]);
            of("clean", 7, Some(TaskState::Running), &[]);
            of("t", 1, Some(TaskState::Queued), &[]);
            of("t", 0, Some(TaskState::Running), &[last]);
        }
        let id = Uuid::from_u128(5);
        self.calls.push(Call { operation: "breadcrumbs", id, body: Value::Null, about: "a run".into() });
    }
}

impl Story {
    /// Instances that end without a word, with tries left and without, and of a DAG that fails fast.
    fn gone(&mut self) {
        // Of one that was cleared, Airflow forgets that it may be tried more often.
        for state in TaskState::ALL.iter().filter(|state| **state != TaskState::Restarting) {
            for max_tries in [0, 2] {
                let mut seeded = self.next(Some(*state));
                seeded.instance.max_tries = max_tries;
                seeded.more = vec![
                    NEXT.to_owned(),
                    reschedule_row(),
                    hitl_row("NULL"),
                    "UPDATE task_instance SET dag_version_id = (SELECT id FROM dag_version WHERE dag_id = 'dag') \
                     WHERE id = '{id}' AND max_tries = 0"
                        .to_owned(),
                ];
                self.gone.push(seeded.instance.clone());
                self.add(seeded, &[]);
            }
        }
        for (task_id, state) in [("t", Some(TaskState::Running)), ("next", None), ("clean", None)] {
            let mut seeded = self.next(state);
            let key = &mut seeded.instance.key;
            (key.dag_id, key.run_id, key.task_id) =
                ("fast".to_owned(), "three".to_owned(), task_id.to_owned());
            if task_id == "t" {
                seeded.more.push(NEXT.to_owned());
                self.gone.push(seeded.instance.clone());
            }
            self.add(seeded, &[]);
        }
    }
}

fn enter(hostname: &str, pid: i32) -> Value {
    let start_date = (THEN + 10.minutes()).to_string();
    json!({"state": "running", "hostname": hostname, "unixname": "user", "pid": pid, "start_date": start_date})
}

fn end() -> String {
    (THEN + 1.hour()).to_string()
}

/// One of each state that can be told.
pub(crate) fn updates() -> Vec<Value> {
    let mut updates = vec![
        json!({"state": "deferred", "classpath": "a.B", "next_method": "m"}),
        json!({"state": "up_for_reschedule", "end_date": end(), "reschedule_date": end()}),
        json!({"state": "awaiting_input", "next_method": "m"}),
        json!({"state": "scheduled"}),
        json!({"state": "queued"}),
        json!({"state": "restarting"}),
    ];
    for state in ["success", "failed", "skipped", "removed", "upstream_failed", "up_for_retry"] {
        updates.push(json!({"state": state, "end_date": end(), "rendered_map_index": null}));
    }
    updates
}

fn reschedule_row() -> String {
    "INSERT INTO task_reschedule (ti_id, start_date, end_date, duration, reschedule_date) VALUES ('{id}', \
     '2023-01-01 00:00:00', '2023-01-01 00:01:00', 60, '2023-01-01 00:02:00')"
        .to_owned()
}

fn hitl_row(responded_at: &str) -> String {
    let (user, chosen) = if responded_at == "NULL" {
        ("NULL", "NULL")
    } else {
        ("'{\"id\": \"1\", \"name\": \"Me\"}'", "'[\"a\"]'")
    };
    format!(
        "INSERT INTO hitl_detail (ti_id, options, subject, multiple, params, created_at, responded_at, responded_by, \
         chosen_options, params_input) VALUES ('{{id}}', '[\"a\"]', 's', TRUE, '{{}}', '2023-01-01 00:00:00', \
         {responded_at}, {user}, {chosen}, '{{\"p\": 1}}')"
    )
}
