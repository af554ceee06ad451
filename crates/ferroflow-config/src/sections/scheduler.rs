//! `[scheduler]` and `[connection_test]`.

use std::time::Duration;

use crate::rule::{Flag, Port, Positive, Seconds, Text, Unlisted, WholeSeconds, at_least};

section! {
    /// The scheduler's loop and its chores.
    Scheduler = "scheduler" {
        job_heartbeat_sec: Duration = Seconds,
        scheduler_heartbeat_sec: Duration = Seconds,
        /// Zero means as often as `task_instance_heartbeat_timeout` asks for.
        task_instance_heartbeat_sec: Duration = WholeSeconds,
        /// Loops to run before exiting; `None` means no limit.
        num_runs: Option<u32> = Positive::new(),
        only_idle: bool = Flag,
        scheduler_idle_sleep_time: Duration = Seconds,
        parsing_cleanup_interval: Duration = Seconds,
        pool_metrics_interval: Duration = Seconds,
        ti_metrics_interval: Duration = Seconds,
        dagrun_metrics_interval: Duration = Seconds,
        scheduler_health_check_threshold: Duration = WholeSeconds,
        enable_health_check: bool = Flag,
        scheduler_health_check_server_host: String = Text,
        scheduler_health_check_server_port: u16 = Port,
        orphaned_tasks_check_interval: Duration = Seconds,
        task_instance_heartbeat_timeout: Duration = WholeSeconds,
        task_instance_heartbeat_timeout_detection_interval: Duration = Seconds,
        catchup_by_default: bool = Flag,
        ignore_first_depends_on_past_by_default: bool = Flag,
        /// 0 means as many as `[core] parallelism`.
        max_tis_per_query: u32 = at_least(0),
        use_row_level_locking: bool = Flag,
        max_dagruns_to_create_per_loop: u32 = at_least(0),
        max_dagruns_per_loop_to_schedule: u32 = at_least(0),
        partition_mapper_max_downstream_keys: u32 = at_least(0),
        use_job_schedule: bool = Flag,
        trigger_timeout_check_interval: Duration = Seconds,
        task_queued_timeout: Duration = Seconds,
        task_queued_timeout_check_interval: Duration = Seconds,
        num_stuck_in_queued_retries: u32 = Unlisted(at_least(0), 2),
        /// A Python regular expression.
        allowed_run_id_pattern: String = Text,
        create_cron_data_intervals: bool = Flag,
        create_delta_data_intervals: bool = Flag,
        enable_tracemalloc: bool = Flag,
    }
}

section! {
    /// Connection tests asked for in the UI.
    ConnectionTest = "connection_test" {
        timeout: Duration = WholeSeconds,
        max_concurrency: u32 = at_least(0),
        reaper_interval: Duration = Seconds,
    }
}
