//! `[dag_processor]`.

use std::path::PathBuf;
use std::time::Duration;

use crate::rule::{Flag, Json, Maybe, Path, Text, WholeSeconds, WholeSecondsOrOff, at_least};

section! {
    /// Bundles of Dag files and their parsing.
    DagProcessor = "dag_processor" {
        /// `None` means a directory of the system's temporary files.
        dag_bundle_storage_path: Option<PathBuf> = Maybe(Path),
        /// A JSON list of `{"name", "classpath", "kwargs"}`; `None` means that there are no bundles.
        dag_bundle_config_list: Option<serde_json::Value> = Maybe(Json),
        refresh_interval: Duration = WholeSeconds,
        parsing_processes: u32 = at_least(1),
        /// `modified_time`, `random_seeded_by_host` or `alphabetical`.
        file_parsing_sort_mode: String = Text,
        max_callbacks_per_loop: u32 = at_least(0),
        min_file_process_interval: Duration = WholeSeconds,
        stale_dag_threshold: Duration = WholeSeconds,
        dag_file_processor_timeout: Duration = WholeSeconds,
        /// `None` means never.
        print_stats_interval: Option<Duration> = WholeSecondsOrOff,
        health_check_threshold: Duration = WholeSeconds,
        disable_bundle_versioning: bool = Flag,
        bundle_refresh_check_interval: Duration = WholeSeconds,
        /// `None` means never.
        stale_bundle_cleanup_interval: Option<Duration> = WholeSecondsOrOff,
        stale_bundle_cleanup_age_threshold: Duration = WholeSeconds,
        stale_bundle_cleanup_min_versions: u32 = at_least(0),
        parsing_pre_import_modules: bool = Flag,
        /// `off`, `warning` or `error`.
        dag_version_inflation_check_level: String = Text,
    }
}
