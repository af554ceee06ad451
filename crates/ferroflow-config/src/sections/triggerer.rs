//! `[triggerer]`.

use std::time::Duration;

use crate::rule::{Flag, Positive, Seconds, SecondsOrOff, WholeSeconds, at_least};

section! {
    /// The process that runs deferred tasks' triggers.
    Triggerer = "triggerer" {
        /// Triggers that one triggerer runs at a time.
        capacity: u32 = at_least(0),
        job_heartbeat_sec: Duration = Seconds,
        triggerer_health_check_threshold: Duration = Seconds,
        /// `None` means that it is not watched.
        runner_health_check_threshold: Option<Duration> = SecondsOrOff,
        blocked_main_thread_warning_threshold: Duration = Seconds,
        max_trigger_to_select_per_loop: u32 = at_least(0),
        on_kill_timeout: Duration = WholeSeconds,
        queues_enabled: bool = Flag,
        /// `None` means no limit.
        shared_stream_subscriber_queue_size: Option<u32> = Positive::new(),
        shared_stream_ack_timeout: Duration = Seconds,
        /// `None` means no delay.
        shared_stream_cohort_grace_period: Option<Duration> = SecondsOrOff,
    }
}
