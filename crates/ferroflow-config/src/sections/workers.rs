//! `[workers]`, `[secrets]`, `[state_store]` and `[callbacks]`.

use std::time::Duration;

use crate::Secret;
use crate::rule::{Flag, Hidden, Maybe, Positive, Seconds, Text, WholeSeconds, WholeSecondsOrOff, at_least};

section! {
    /// The supervisors of running tasks.
    Workers = "workers" {
        /// `None` means `[secrets] backend`.
        secrets_backend: Option<String> = Maybe(Text),
        secrets_backend_kwargs: Option<Secret> = Maybe(Hidden),
        state_store_backend: Option<String> = Maybe(Text),
        min_heartbeat_interval: Duration = WholeSeconds,
        max_failed_heartbeats: u32 = at_least(0),
        execution_api_retries: u32 = at_least(0),
        execution_api_retry_wait_min: Duration = Seconds,
        execution_api_retry_wait_max: Duration = Seconds,
        execution_api_timeout: Duration = Seconds,
        socket_cleanup_timeout: Duration = Seconds,
        /// `None` means none.
        missing_dag_retries: Option<u32> = Positive::new(),
        missing_dag_retry_delay: Duration = WholeSeconds,
    }
}

section! {
    /// Where variables and connections are looked up before the database.
    Secrets = "secrets" {
        backend: Option<String> = Maybe(Text),
        backend_kwargs: Option<Secret> = Maybe(Hidden),
        use_cache: bool = Flag,
        cache_ttl_seconds: Duration = WholeSeconds,
    }
}

section! {
    /// The store of tasks' states between runs.
    StateStore = "state_store" {
        backend: String = Text,
        clear_on_success: bool = Flag,
        /// 0 means for ever.
        default_retention_days: u32 = at_least(0),
        /// `None` means all rows at once.
        state_cleanup_batch_size: Option<u32> = Positive::new(),
        /// `None` means no limit.
        max_value_storage_bytes: Option<u64> = Positive::new(),
    }
}

section! {
    /// Callbacks run by executors.
    Callbacks = "callbacks" {
        /// `None` means no limit.
        callback_execution_timeout: Option<Duration> = WholeSecondsOrOff,
    }
}
