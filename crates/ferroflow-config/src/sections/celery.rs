//! `[celery]`.

use std::path::PathBuf;
use std::time::Duration;

use crate::Secret;
use crate::rule::{Flag, Hidden, Json, Maybe, Path, Seconds, Text, at_least};

section! {
    /// Sending tasks to Celery's workers.
    Celery = "celery" {
        celery_app_name: String = Text,
        broker_url: Secret = Hidden,
        /// `None` means the metadata database.
        result_backend: Option<Secret> = Maybe(Hidden),
        result_backend_sqlalchemy_engine_options: Option<serde_json::Value> = Maybe(Json),
        worker_concurrency: u32 = at_least(0),
        worker_prefetch_multiplier: u32 = at_least(0),
        worker_enable_remote_control: bool = Flag,
        /// Threads or processes that ask for states; 0 means one less than the machine's cores.
        sync_parallelism: u32 = at_least(0),
        celery_config_options: String = Text,
        extra_celery_config: Option<serde_json::Value> = Maybe(Json),
        ssl_active: bool = Flag,
        ssl_mutual_tls: bool = Flag,
        ssl_key: Option<PathBuf> = Maybe(Path),
        ssl_cert: Option<PathBuf> = Maybe(Path),
        ssl_cacert: Option<PathBuf> = Maybe(Path),
        pool: String = Text,
        /// Zero means no limit.
        operation_timeout: Duration = Seconds,
        task_acks_late: bool = Flag,
        task_track_started: bool = Flag,
        task_publish_max_retries: u32 = at_least(0),
        worker_precheck: bool = Flag,
    }
}
