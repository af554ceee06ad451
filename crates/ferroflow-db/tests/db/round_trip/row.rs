//! Rows as `testdata/round_trip/orm.py` speaks of them.

use ferroflow_db::Json;
use ferroflow_db::audit_log::AuditEntry;
use ferroflow_db::callback::Callback;
use ferroflow_db::connection::Connection;
use ferroflow_db::dag::Dag;
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::dag_version::DagVersion;
use ferroflow_db::dag_version::serialized_dag::SerializedDag;
use ferroflow_db::encoding::executor_config::ExecutorConfig;
use ferroflow_db::job::Job;
use ferroflow_db::task_instance::TaskInstance;
use ferroflow_db::variable::Variable;
use ferroflow_model::extended_json;
use ferroflow_model::state::{CallbackState, JobState, RunState, RunType, TaskState, TriggeredBy};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

pub(crate) type Row = Map<String, Value>;

/// What comes after the name of a JSON column.
const IS_NULL: &str = " is NULL";

/// The row of a struct: its plain columns, the JSON columns in which nothing is SQL NULL, and those in which
/// it is JSON `null`.
macro_rules! row {
    ($of:expr; $($plain:ident),*; sql_null: $($sql_null:ident),*; json_null: $($json_null:ident),*) => {{
        let mut row = Row::new();
        $(row.insert(stringify!($plain).to_owned(), Cell::cell(&$of.$plain));)*
        $(json(&mut row, stringify!($sql_null), Cell::cell(&$of.$sql_null), true);)*
        $(json(&mut row, stringify!($json_null), Cell::cell(&$of.$json_null), false);)*
        row
    }};
}

pub(crate) fn job(job: &Job) -> Row {
    row!(job; dag_id, state, job_type, start_date, end_date, latest_heartbeat, executor_class, hostname, unixname;
        sql_null: ; json_null: )
}

pub(crate) fn dag(dag: &Dag) -> Row {
    row!(dag; dag_id, is_paused, is_stale, exceeds_max_non_backfill, last_parsed_time, last_parse_duration,
        last_expired, fileloc, relative_fileloc, bundle_name, bundle_version, owners, dag_display_name, description,
        timetable_type, timetable_summary, timetable_description, timetable_partitioned, timetable_periodic,
        max_active_tasks, max_active_runs, max_consecutive_failed_dag_runs, has_task_concurrency_limits,
        has_import_errors, fail_fast, next_dagrun, next_dagrun_data_interval_start, next_dagrun_data_interval_end,
        next_dagrun_partition_key, next_dagrun_partition_date, next_dagrun_create_after;
        sql_null: partition_mapper_info, asset_expression, deadline; json_null: allowed_run_types)
}

pub(crate) fn dag_version(version: &DagVersion) -> Row {
    row!(version; id, version_number, dag_id, bundle_name, bundle_version, created_at, last_updated;
        sql_null: ; json_null: version_data)
}

pub(crate) fn serialized_dag(dag: &SerializedDag, is_compressed: bool) -> Row {
    let mut row = row!(dag; id, dag_id, dag_version_id, dag_hash, created_at, last_updated;
        sql_null: ; json_null: data);
    row.insert("data_compressed".to_owned(), Value::from(is_compressed));
    row
}

pub(crate) fn dag_run(run: &DagRun) -> Row {
    row!(run; dag_id, run_id, state, run_type, triggered_by, triggering_user_name, creating_job_id,
        scheduled_by_job_id, backfill_id, logical_date, data_interval_start, data_interval_end, run_after,
        partition_key, partition_date, queued_at, start_date, end_date, last_scheduling_decision, log_template_id,
        clear_number, bundle_version, created_dag_version_id, created_at, updated_at;
        sql_null: conf, context_carrier; json_null: )
}

pub(crate) fn task_instance(instance: &TaskInstance) -> Row {
    let mut row = row!(instance; id, state, try_number, max_tries, start_date, end_date, duration, hostname,
        unixname, pool, pool_slots, queue, priority_weight, operator, custom_operator_name, queued_dttm,
        scheduled_dttm, queued_by_job_id, last_heartbeat_at, pid, executor, executor_config, updated_at,
        rendered_map_index, external_executor_id, trigger_id, trigger_timeout, next_method, task_display_name,
        dag_version_id, retry_delay_override, retry_reason;
        sql_null: context_carrier, next_kwargs; json_null: );
    row.extend(row!(instance.key; dag_id, run_id, task_id, map_index; sql_null: ; json_null: ));
    row
}

pub(crate) fn callback(callback: &Callback) -> Row {
    let mut row = row!(callback; id, fetch_method, bundle_name, state, output, priority_weight, created_at,
        trigger_id; sql_null: ; json_null: );
    row.insert("type".to_owned(), callback.callback_type.cell());
    json(&mut row, "data", extended_json::decode(&callback.data.value().unwrap()).cell(), false);
    row
}

pub(crate) fn audit_entry(entry: &AuditEntry) -> Row {
    row!(entry; dttm, event, dag_id, run_id, task_id, map_index, try_number, logical_date, owner,
        owner_display_name, extra; sql_null: ; json_null: )
}

/// `key` is the position of the key that encrypts it.
pub(crate) fn variable(variable: &Variable, key: Option<usize>) -> Row {
    let mut row = row!(variable; key, val, description, team_name; sql_null: ; json_null: );
    secret(&mut row, "val", "is_encrypted", key);
    row
}

/// `key` is the position of the key that encrypts its secrets.
pub(crate) fn connection(connection: &Connection, key: Option<usize>) -> Row {
    let mut row = row!(connection; conn_id, conn_type, description, host, schema, login, password, port, extra,
        team_name; sql_null: ; json_null: );
    let used_for =
        |secret: &Option<String>| key.filter(|_| secret.as_ref().is_some_and(|text| !text.is_empty()));
    secret(&mut row, "password", "is_encrypted", used_for(&connection.password));
    secret(&mut row, "extra", "is_extra_encrypted", used_for(&connection.extra));
    row
}

/// The same row with its JSON read: PostgreSQL keeps what JSON says, but not its text.
pub(crate) fn without_texts_of_json(row: &Row) -> Row {
    let read = |(name, value): (&String, &Value)| match value.as_str() {
        Some(text) if row.contains_key(&format!("{name}{IS_NULL}")) => {
            (name.clone(), serde_json::from_str(text).unwrap())
        }
        _ => (name.clone(), value.clone()),
    };
    row.iter().map(read).collect()
}

fn json(row: &mut Row, column: &str, cell: Value, nothing_is_sql_null: bool) {
    row.insert(format!("{column}{IS_NULL}"), Value::from(nothing_is_sql_null && cell.is_null()));
    row.insert(column.to_owned(), if cell.is_null() { Value::from("null") } else { cell });
}

fn secret(row: &mut Row, column: &str, flag: &str, key: Option<usize>) {
    row.insert(format!("{column} key"), key.into());
    row.insert(flag.to_owned(), key.is_some().into());
}

/// A value of a column.
trait Cell {
    fn cell(&self) -> Value;
}

impl<T: Cell> Cell for Option<T> {
    fn cell(&self) -> Value {
        self.as_ref().map_or(Value::Null, Cell::cell)
    }
}

macro_rules! cells {
    ($($type:ty: |$value:ident| $cell:expr;)*) => {$(
        impl Cell for $type {
            fn cell(&self) -> Value {
                let $value = self;
                Value::from($cell)
            }
        }
    )*};
}

cells! {
    bool: |value| *value;
    i32: |value| *value;
    i64: |value| *value;
    f64: |value| *value;
    String: |value| value.as_str();
    Timestamp: |value| value.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string();
    Uuid: |value| value.to_string();
    Json: |value| value.text();
    // Only in the envelopes of ExtendedJSON.
    Value: |value| Json::from(value).into_text();
    ExecutorConfig: |value| value.value().expect("JSON can say it");
    TaskState: |value| value.as_str();
    RunState: |value| value.as_str();
    RunType: |value| value.as_str();
    TriggeredBy: |value| value.as_str();
    JobState: |value| value.as_str();
    CallbackState: |value| value.as_str();
}
