//! `[logging]`.

use std::path::PathBuf;

use crate::Secret;
use crate::rule::{Flag, Hidden, List, Maybe, Path, Permissions, Port, Text, at_least};

section! {
    /// Logs of the roles and of tasks.
    Logging = "logging" {
        base_log_folder: PathBuf = Path,
        remote_logging: bool = Flag,
        remote_log_conn_id: Option<String> = Maybe(Text),
        delete_local_logs: bool = Flag,
        google_key_path: Option<PathBuf> = Maybe(Path),
        remote_base_log_folder: Option<String> = Maybe(Text),
        remote_task_handler_kwargs: Option<Secret> = Maybe(Hidden),
        encrypt_s3_logs: bool = Flag,
        /// `CRITICAL`, `FATAL`, `ERROR`, `WARN`, `WARNING`, `INFO` or `DEBUG`.
        logging_level: String = Text,
        /// `logger=LEVEL` pairs.
        namespace_levels: Option<String> = Maybe(Text),
        /// `None` means `logging_level`.
        celery_logging_level: Option<String> = Maybe(Text),
        fab_logging_level: String = Text,
        uvicorn_logging_level: String = Text,
        json_logs: bool = Flag,
        logging_config_class: Option<String> = Maybe(Text),
        colored_console_log: bool = Flag,
        log_format: Option<String> = Maybe(Text),
        callsite_parameters: Vec<String> = List,
        simple_log_format: String = Text,
        /// `file` or `stdout`.
        dag_processor_log_target: String = Text,
        dag_processor_log_format: String = Text,
        dag_processor_child_process_log_directory: PathBuf = Path,
        log_timestamp_format: String = Text,
        secret_mask_adapter: Option<String> = Maybe(Text),
        min_length_masked_secret: u32 = at_least(0),
        task_log_prefix_template: Option<String> = Maybe(Text),
        /// A Jinja template of the path below `base_log_folder`.
        log_filename_template: String = Text,
        task_log_reader: String = Text,
        extra_logger_names: Vec<String> = List,
        worker_log_server_port: u16 = Port,
        trigger_log_server_port: u16 = Port,
        interleave_timestamp_parser: Option<String> = Maybe(Text),
        file_task_handler_new_folder_permissions: u32 = Permissions,
        file_task_handler_new_file_permissions: u32 = Permissions,
        celery_stdout_stderr_separation: bool = Flag,
        color_log_error_keywords: Vec<String> = List,
        color_log_warning_keywords: Vec<String> = List,
    }
}
