//! `[triggerer]`.

use std::time::Duration;

use crate::rule::{Flag, Seconds, WholeSeconds, at_least};

section! {
    /// The process that runs deferred tasks' triggers.
    Triggerer = "triggerer" {
        /// Triggers that one triggerer runs at a time.
        capacity: u32 = at_least(1),
        job_heartbeat_sec: Duration = Seconds,
        triggerer_health_check_threshold: Duration = Seconds,
        runner_health_check_threshold: Duration = Seconds,
        blocked_main_thread_warning_threshold: Duration = Seconds,
        max_trigger_to_select_per_loop: u32 = at_least(0),
        on_kill_timeout: Duration = WholeSeconds,
        queues_enabled: bool = Flag,
        shared_stream_subscriber_queue_size: u32 = at_least(0),
        shared_stream_ack_timeout: Duration = Seconds,
        shared_stream_cohort_grace_period: Duration = Seconds,
    }
}
