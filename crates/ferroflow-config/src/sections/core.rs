//! `[core]` and `[operators]`.

use std::path::PathBuf;
use std::time::Duration;

use crate::Secret;
use crate::rule::{
    Flag, Hidden, List, Maybe, Path, Permissions, Positive, Seconds, SecondsOrOff, Text, WholeSeconds,
    at_least,
};

section! {
    /// What concerns every role.
    Core = "core" {
        dags_folder: PathBuf = Path,
        plugins_folder: PathBuf = Path,
        hostname_callable: String = Text,
        might_contain_dag_callable: String = Text,
        default_timezone: String = Text,
        /// Executors by name or class path, the first being the default; with `multi_team` in Airflow's team syntax.
        executor: String = Text,
        mp_start_method: Option<String> = Maybe(Text),
        mp_forkserver_preload: Option<String> = Maybe(Text),
        auth_manager: String = Text,
        /// `name:role` pairs.
        simple_auth_manager_users: Vec<String> = List,
        simple_auth_manager_all_admins: bool = Flag,
        simple_auth_manager_passwords_file: Option<PathBuf> = Maybe(Path),
        /// Task slots of each scheduler and of each executor.
        parallelism: u32 = at_least(1),
        max_active_tasks_per_dag: u32 = at_least(0),
        dags_are_paused_at_creation: bool = Flag,
        max_active_runs_per_dag: u32 = at_least(0),
        /// 0 or less means that failures never pause a Dag.
        max_consecutive_failed_dag_runs_per_dag: i32 = at_least(i64::MIN),
        load_examples: bool = Flag,
        execute_tasks_new_python_interpreter: bool = Flag,
        /// One or more keys between commas, the first for encryption. `None` stores secrets as plain text.
        fernet_key: Option<Secret> = Maybe(Hidden),
        /// `None` means no limit.
        dagbag_import_timeout: Option<Duration> = SecondsOrOff,
        dagbag_import_error_tracebacks: bool = Flag,
        dagbag_import_error_traceback_depth: u32 = at_least(0),
        default_impersonation: Option<String> = Maybe(Text),
        security: Option<String> = Maybe(Text),
        unit_test_mode: bool = Flag,
        killed_task_cleanup_time: Duration = WholeSeconds,
        dag_run_conf_overrides_params: bool = Flag,
        dag_discovery_safe_mode: bool = Flag,
        /// `glob` or `regexp`.
        dag_ignore_file_syntax: String = Text,
        default_task_retries: u32 = at_least(0),
        default_task_retry_delay: Duration = WholeSeconds,
        max_task_retry_delay: Duration = WholeSeconds,
        /// `absolute`, `downstream` or `upstream`.
        default_task_weight_rule: String = Text,
        task_success_overtime: Duration = Seconds,
        /// Both `None` and zero mean no limit.
        default_task_execution_timeout: Option<Duration> = Maybe(WholeSeconds),
        min_serialized_dag_update_interval: Duration = WholeSeconds,
        compress_serialized_dags: bool = Flag,
        /// `None` means all.
        num_dag_runs_to_retain_rendered_fields: Option<u32> = Positive::new(),
        xcom_backend: String = Text,
        lazy_load_plugins: bool = Flag,
        lazy_discover_providers: bool = Flag,
        hide_sensitive_var_conn_fields: bool = Flag,
        sensitive_var_conn_names: Vec<String> = List,
        /// -1 means no limit.
        default_pool_task_slot_count: i32 = at_least(-1),
        max_map_length: u32 = at_least(0),
        allow_double_dot_in_ids: bool = Flag,
        daemon_umask: u32 = Permissions,
        asset_manager_class: Option<String> = Maybe(Text),
        asset_manager_kwargs: Option<Secret> = Maybe(Hidden),
        /// `Enabled`, `Disabled` or `Hidden`.
        test_connection: String = Text,
        max_templated_field_length: u32 = at_least(0),
        /// `None` means `[api] base_url` and `/execution/`.
        execution_api_server_url: Option<String> = Maybe(Text),
        multi_team: bool = Flag,
        team_name_cache_ttl: Duration = WholeSeconds,
        rerun_with_latest_version: Option<bool> = Maybe(Flag),
        allowed_deserialization_classes: String = Text,
        allowed_deserialization_classes_regexp: String = Text,
    }
}

section! {
    /// Defaults for operators.
    Operators = "operators" {
        default_owner: String = Text,
        default_deferrable: bool = Flag,
        default_queue: String = Text,
    }
}
