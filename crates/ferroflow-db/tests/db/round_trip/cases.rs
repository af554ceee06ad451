//! Rows that are hard to get right. Both sides write them, each under a name of its own.

use ferroflow_db::Json;
use ferroflow_db::audit_log::AuditEntry;
use ferroflow_db::callback::Callback;
use ferroflow_db::connection::Connection;
use ferroflow_db::dag::Dag;
use ferroflow_db::dag_run::NewDagRun;
use ferroflow_db::encoding::executor_config::ExecutorConfig;
use ferroflow_db::task_instance::{TaskInstance, TaskInstanceKey};
use ferroflow_db::variable::Variable;
use ferroflow_model::extended_json;
use ferroflow_model::id::{NOT_MAPPED, new_v7};
use ferroflow_model::state::{CallbackState, RunType, TaskState, TriggeredBy};
use ferroflow_testkit::rows::{a_dag, a_run};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

/// More than any integer of a database, or of a parser that knows no others.
pub(crate) const BIG: &str = "123456789012345678901234567890123456789";
const TEXT: &str = "naïve 日本語 🎉 \"quoted\" 'twice' \\ %s {x} ? -- ;\n\ttabbed\r\n";

/// Who writes.
#[derive(Clone, Copy)]
pub(crate) struct Writer(pub(crate) &'static str);

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The last microsecond of a year.
pub(crate) fn year_end() -> Timestamp {
    time("2025-12-31T23:59:59.999999Z")
}

/// The first instant of a year, without a fraction.
pub(crate) fn new_year() -> Timestamp {
    time("2026-01-01T00:00:00Z")
}

/// The first and the last that MariaDB's timestamps can say.
fn extremes() -> (Timestamp, Timestamp) {
    (time("1970-01-01T00:00:01.000001Z"), time("2038-01-19T03:14:07.999999Z"))
}

pub(crate) fn new_id() -> Uuid {
    new_v7(new_year(), rand::random())
}

/// JSON as Python writes it with sorted keys, so that its text can be compared.
fn json_text(text: &str) -> Json {
    Json::from_text(text.to_owned()).unwrap()
}

pub(crate) fn conf() -> Json {
    json_text(&format!(
        r#"{{"big": [{BIG}, -{BIG}, 9223372036854775808], "deep": {{"list": [[], {{}}, [null, true, 1.0, 0.25]]}}, "text": "\u00e9\n\ud83c\udf89\"\\"}}"#
    ))
}

/// A DAG as far as Airflow wants to see one.
pub(crate) fn serialized_data(dag_id: &str) -> Json {
    let long = "\\u00e9".repeat(20_000);
    json_text(&format!(
        r#"{{"__version": 3, "dag": {{"big": {BIG}, "dag_id": "{dag_id}", "long": "{long}", "tasks": []}}}}"#
    ))
}

fn carrier() -> Value {
    json!({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "tracestate": "a=é🎉"})
}

impl Writer {
    pub(crate) fn named(self, name: &str) -> String {
        format!("{}_{name}", self.0)
    }

    pub(crate) fn bundle(self) -> String {
        self.named("bundle")
    }

    /// One DAG with everything and one with nothing that can be left out.
    pub(crate) fn dags(self) -> [Dag; 2] {
        let (first, last) = extremes();
        let bare = self.bare_dag("bare");
        let full = Dag {
            is_paused: true,
            is_stale: true,
            exceeds_max_non_backfill: true,
            last_parsed_time: Some(year_end()),
            last_parse_duration: Some(0.25),
            last_expired: Some(new_year()),
            fileloc: Some(format!("/dags/{}.py", "é".repeat(900))),
            relative_fileloc: Some("a/b.py".to_owned()),
            bundle_version: Some("v1".to_owned()),
            owners: Some("ada, grace".to_owned()),
            dag_display_name: Some(TEXT.to_owned()),
            description: Some(TEXT.repeat(200)),
            timetable_summary: Some("0 0 * * *".to_owned()),
            timetable_description: Some("At 00:00".to_owned()),
            timetable_partitioned: true,
            timetable_periodic: true,
            partition_mapper_info: json_text(r#"[{"is_rollup": false, "name": "a"}]"#),
            asset_expression: Some(json_text(
                r#"{"any": [{"asset": {"id": 1, "name": "a", "uri": "s3://a"}}]}"#,
            )),
            deadline: Some(json_text(r#"["01a1e0df-7ee2-72c7-b2be-3b8cc0a84562"]"#)),
            max_active_runs: Some(0),
            has_import_errors: Some(true),
            fail_fast: true,
            allowed_run_types: Some(json_text(r#"["manual", "scheduled"]"#)),
            next_dagrun: Some(first),
            next_dagrun_data_interval_start: Some(first),
            next_dagrun_data_interval_end: Some(last),
            next_dagrun_partition_key: Some("2026-01-01".to_owned()),
            next_dagrun_partition_date: Some(new_year()),
            next_dagrun_create_after: Some(last),
            ..self.bare_dag("dag")
        };
        [full, bare]
    }

    pub(crate) fn runs(self, version: Uuid) -> [NewDagRun; 2] {
        let (first, last) = extremes();
        let full = NewDagRun {
            run_id: self.named("run é"),
            run_type: RunType::Scheduled,
            triggered_by: Some(TriggeredBy::Timetable),
            triggering_user_name: Some(TEXT.to_owned()),
            creating_job_id: Some(7),
            logical_date: Some(year_end()),
            data_interval_start: Some(first),
            data_interval_end: Some(last),
            partition_key: Some("part".to_owned()),
            partition_date: Some(year_end()),
            conf: conf(),
            bundle_version: Some("v1".to_owned()),
            created_dag_version_id: Some(version),
            context_carrier: carrier(),
            ..self.bare_run("full")
        };
        [full, self.bare_run("bare")]
    }

    pub(crate) fn task_instances(self, version: Uuid) -> Vec<TaskInstance> {
        let (first, last) = extremes();
        let bare = self.bare_task_instance("bare", NOT_MAPPED);
        let full = TaskInstance {
            state: Some(TaskState::Deferred),
            try_number: 3,
            max_tries: 5,
            start_date: Some(first),
            end_date: Some(last),
            duration: Some(1.5),
            hostname: Some("host".to_owned()),
            unixname: Some("airflow".to_owned()),
            pool: TEXT.to_owned(),
            pool_slots: 2,
            priority_weight: Some(i32::MIN),
            operator: Some("PythonOperator".to_owned()),
            custom_operator_name: Some("@task".to_owned()),
            queued_dttm: Some(year_end()),
            scheduled_dttm: Some(new_year()),
            queued_by_job_id: Some(7),
            last_heartbeat_at: Some(year_end()),
            pid: Some(i32::MAX),
            executor: Some("LocalExecutor".to_owned()),
            executor_config: Some(ExecutorConfig::pickle(&nested_config())),
            rendered_map_index: Some(TEXT.to_owned()),
            context_carrier: Some(carrier()),
            external_executor_id: Some(TEXT.repeat(50)),
            trigger_timeout: Some(last),
            next_method: Some("execute_complete".to_owned()),
            next_kwargs: Some(conf()),
            task_display_name: Some(TEXT.to_owned()),
            dag_version_id: Some(version),
            retry_delay_override: Some(0.5),
            retry_reason: Some(TEXT.to_owned()),
            ..self.bare_task_instance("mapped", 0)
        };
        let nothing = TaskInstance {
            hostname: None,
            queue: None,
            priority_weight: None,
            executor_config: None,
            updated_at: None,
            ..self.bare_task_instance("mapped", 1)
        };
        let empty_carrier = TaskInstance {
            context_carrier: Some(json!({})),
            next_kwargs: Some(json_text("{}")),
            executor_config: Some(ExecutorConfig::pickle(&json!({"pool": []}))),
            ..self.bare_task_instance("mapped", 2)
        };
        vec![bare, full, nothing, empty_carrier]
    }

    pub(crate) fn callbacks(self) -> [Callback; 2] {
        let data = json!({"kwargs": {"deep": [{"é🎉": null}, 1.5]}, "path": "a.b", "prefix": "p"});
        let for_executor = Callback {
            id: new_id(),
            callback_type: "executor".to_owned(),
            fetch_method: "import_path".to_owned(),
            data: Json::from(extended_json::encode(&data)),
            bundle_name: Some(self.bundle()),
            state: Some(CallbackState::Failed),
            output: Some(TEXT.to_owned()),
            priority_weight: -1,
            created_at: year_end(),
            trigger_id: None,
        };
        let for_dag_processor = Callback {
            id: new_id(),
            callback_type: "dag_processor".to_owned(),
            fetch_method: "dag_attribute".to_owned(),
            data: Json::from(extended_json::encode(&json!({}))),
            bundle_name: None,
            state: None,
            output: None,
            ..for_executor.clone()
        };
        [for_executor, for_dag_processor]
    }

    pub(crate) fn audit_entries(self) -> [AuditEntry; 2] {
        let key = self.key("bare", NOT_MAPPED);
        let bare = AuditEntry {
            dttm: None,
            event: self.named("bare"),
            dag_id: None,
            run_id: None,
            task_id: None,
            map_index: None,
            try_number: None,
            logical_date: None,
            owner: None,
            owner_display_name: None,
            extra: None,
        };
        let full = AuditEntry {
            dttm: Some(year_end()),
            event: self.named("full"),
            dag_id: Some(key.dag_id),
            run_id: Some(key.run_id),
            task_id: Some(key.task_id),
            map_index: Some(key.map_index),
            try_number: Some(0),
            logical_date: Some(new_year()),
            owner: Some("ada".to_owned()),
            owner_display_name: Some(TEXT.to_owned()),
            extra: Some(TEXT.repeat(100)),
        };
        [bare, full]
    }

    pub(crate) fn variable(self, name: &str) -> Variable {
        Variable {
            key: self.named(name),
            val: TEXT.repeat(100),
            description: Some(TEXT.to_owned()),
            team_name: None,
        }
    }

    pub(crate) fn connection(self, name: &str) -> Connection {
        Connection {
            conn_id: self.named(name),
            conn_type: "postgres".to_owned(),
            description: Some(TEXT.to_owned()),
            host: Some("host".to_owned()),
            schema: Some("schema".to_owned()),
            login: Some("é🎉".to_owned()),
            password: Some(TEXT.to_owned()),
            port: Some(5432),
            extra: Some(r#"{"key": "é🎉"}"#.to_owned()),
            team_name: None,
        }
    }

    /// One with nothing that can be left out. Its password and `extra` are what is given.
    pub(crate) fn bare_connection(
        self,
        name: &str,
        password: Option<&str>,
        extra: Option<&str>,
    ) -> Connection {
        Connection {
            description: None,
            host: None,
            schema: None,
            login: None,
            password: password.map(str::to_owned),
            port: None,
            extra: extra.map(str::to_owned),
            ..self.connection(name)
        }
    }

    pub(crate) fn key(self, task_id: &str, map_index: i32) -> TaskInstanceKey {
        let (dag_id, run_id) = (self.named("dag"), self.named("run é"));
        TaskInstanceKey { dag_id, run_id, task_id: task_id.to_owned(), map_index }
    }

    pub(crate) fn bare_task_instance(self, task_id: &str, map_index: i32) -> TaskInstance {
        TaskInstance::new(new_id(), self.key(task_id, map_index), year_end())
    }

    fn bare_dag(self, name: &str) -> Dag {
        Dag {
            fileloc: None,
            relative_fileloc: None,
            bundle_name: self.bundle(),
            owners: None,
            timetable_summary: None,
            partition_mapper_info: json_text("[]"),
            max_active_runs: None,
            has_import_errors: None,
            ..a_dag(&self.named(name))
        }
    }

    fn bare_run(self, name: &str) -> NewDagRun {
        NewDagRun {
            triggered_by: None,
            logical_date: None,
            data_interval_start: None,
            data_interval_end: None,
            ..a_run(&self.named("dag"), &self.named(name), new_year())
        }
    }
}

fn nested_config() -> Value {
    json!({
        "KubernetesExecutor": {"image": "é🎉".repeat(100), "ports": [80, -1, 70_000, -3_000_000_000_i64, u64::MAX]},
        "ratio": -0.25, "whole": 2.0, "on": true, "none": null, "empty": [{}, [], ""],
    })
}
