//! The columns that several statements read, each set by its name.

use crate::Dialect;

struct Set {
    name: &'static str,
    columns: &'static str,
}

/// The columns of `{columns:name}` or, each with a table before it, of `{columns:name table}`.
pub(crate) fn columns(dialect: Dialect, argument: &str) -> Option<String> {
    let (name, table) = argument.split_once(' ').unwrap_or((argument, ""));
    let set = SETS.iter().find(|set| set.name == name)?;
    let prefix = if table.is_empty() { String::new() } else { format!("{table}.") };
    let columns = set.columns.split_whitespace().map(|column| match column.strip_prefix('*') {
        Some(reserved) => format!("{prefix}{}", dialect.quote(reserved)),
        None => format!("{prefix}{column}"),
    });
    Some(columns.collect::<Vec<_>>().join(", "))
}

/// A `*` marks what databases take for a word of their own.
const SETS: [Set; 9] = [
    Set {
        name: "dag",
        columns: "dag_id is_paused is_stale exceeds_max_non_backfill last_parsed_time last_parse_duration \
            last_expired fileloc relative_fileloc bundle_name bundle_version owners dag_display_name \
            description timetable_type timetable_summary timetable_description timetable_partitioned \
            timetable_periodic partition_mapper_info asset_expression deadline max_active_tasks \
            max_active_runs max_consecutive_failed_dag_runs has_task_concurrency_limits \
            has_import_errors fail_fast allowed_run_types next_dagrun next_dagrun_data_interval_start \
            next_dagrun_data_interval_end next_dagrun_partition_key next_dagrun_partition_date \
            next_dagrun_create_after",
    },
    Set {
        name: "dag_run",
        columns: "id dag_id run_id state run_type triggered_by triggering_user_name creating_job_id \
            scheduled_by_job_id backfill_id logical_date data_interval_start data_interval_end run_after \
            partition_key partition_date queued_at start_date end_date last_scheduling_decision conf \
            log_template_id clear_number bundle_version created_dag_version_id context_carrier \
            created_at updated_at",
    },
    Set {
        name: "dag_scheduling",
        columns: "dag_id is_paused is_stale has_import_errors exceeds_max_non_backfill max_active_runs \
            timetable_partitioned timetable_periodic allowed_run_types bundle_name bundle_version \
            next_dagrun next_dagrun_data_interval_start next_dagrun_data_interval_end \
            next_dagrun_partition_key next_dagrun_partition_date next_dagrun_create_after",
    },
    Set {
        name: "task_instance",
        columns: "id dag_id run_id task_id map_index state try_number max_tries start_date end_date duration \
            hostname unixname pool pool_slots queue priority_weight operator custom_operator_name \
            queued_dttm scheduled_dttm queued_by_job_id last_heartbeat_at pid executor executor_config \
            updated_at rendered_map_index context_carrier external_executor_id trigger_id \
            trigger_timeout next_method next_kwargs task_display_name dag_version_id \
            retry_delay_override retry_reason",
    },
    Set {
        name: "task_instance_scheduling",
        columns: "id task_id map_index state try_number start_date end_date retry_delay_override \
            dag_version_id",
    },
    Set {
        name: "job",
        columns: "id dag_id state job_type start_date end_date latest_heartbeat executor_class hostname \
            unixname",
    },
    Set {
        name: "callback",
        columns: "id type fetch_method data bundle_name state output priority_weight created_at trigger_id",
    },
    Set { name: "asset", columns: "id name uri *group extra created_at updated_at" },
    Set {
        name: "connection",
        columns: "id conn_id conn_type description host *schema login port team_name is_encrypted \
            is_extra_encrypted password extra",
    },
];
