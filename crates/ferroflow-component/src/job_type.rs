//! The components that have a row in `job`, and what the configuration says of each.

use std::time::Duration;

use ferroflow_config::Settings;
use ferroflow_telemetry::metrics::{dag_processing, scheduling};

use crate::health::HealthEndpoint;

/// What schedulers that look after their runs by themselves have as their `executor_class`; official ones have none.
pub const EXECUTOR_CLASS: &str = "ferroflow";

/// A component that has a row in `job`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobType {
    Scheduler,
    DagProcessor,
    Triggerer,
    /// A run or a task in the foreground. No component takes it for a peer.
    DagTest,
}

impl JobType {
    /// Airflow's word in `job.job_type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduler => "SchedulerJob",
            Self::DagProcessor => "DagProcessorJob",
            Self::Triggerer => "TriggererJob",
            Self::DagTest => "DagTestJob",
        }
    }

    /// What messages call it.
    pub fn component(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::DagProcessor => "DAG processor",
            Self::Triggerer => "triggerer",
            Self::DagTest => "run in the foreground",
        }
    }

    /// What stands in `job.executor_class`.
    pub fn executor_class(self) -> Option<&'static str> {
        (self == Self::Scheduler).then_some(EXECUTOR_CLASS)
    }

    /// How often it shows that it lives.
    pub fn heartbeat_interval(self, settings: &Settings) -> Duration {
        match self {
            Self::Scheduler | Self::DagTest => settings.scheduler.scheduler_heartbeat_sec,
            Self::DagProcessor => settings.scheduler.job_heartbeat_sec,
            Self::Triggerer => settings.triggerer.job_heartbeat_sec,
        }
    }

    /// For how long it may not show that it lives before it is taken for dead.
    pub fn health_threshold(self, settings: &Settings) -> Duration {
        settings.health_threshold(Some(self.as_str()))
    }

    /// Where the configuration says so.
    pub(crate) fn health_threshold_option(self) -> &'static str {
        match self {
            Self::Scheduler => "[scheduler] scheduler_health_check_threshold",
            Self::DagProcessor => "[dag_processor] health_check_threshold",
            Self::Triggerer => "[triggerer] triggerer_health_check_threshold",
            Self::DagTest => "[scheduler] job_heartbeat_sec",
        }
    }

    /// Where it answers whether it lives, if it does. Only for schedulers does Airflow have such options.
    pub fn health_endpoint(self, settings: &Settings) -> Option<HealthEndpoint> {
        let scheduler = &settings.scheduler;
        (self == Self::Scheduler && scheduler.enable_health_check).then(|| HealthEndpoint {
            host: scheduler.scheduler_health_check_server_host.clone(),
            port: scheduler.scheduler_health_check_server_port,
            advice: "change [scheduler] scheduler_health_check_server_host and \
                     scheduler_health_check_server_port, or switch enable_health_check off",
        })
    }

    /// Whether it gets another row if its own is removed. A scheduler does not: its runs and task instances name that row.
    pub(crate) fn replaces_row(self) -> bool {
        self == Self::DagProcessor
    }

    /// How long the database may take to note the end; without a limit if not given. Without it the
    /// row says the same by its old heartbeat, but the peers of a scheduler would wait for that.
    pub(crate) fn patience_at_end(self) -> Option<Duration> {
        (self != Self::Scheduler).then_some(Duration::from_secs(5))
    }

    /// Whether other schedulers hear of its end.
    pub(crate) fn is_heard_by_schedulers(self) -> bool {
        self == Self::Scheduler
    }

    pub(crate) fn count_start(self) {
        if self == Self::Scheduler {
            scheduling::job_started();
        }
    }

    pub(crate) fn count_end(self) {
        if self == Self::Scheduler {
            scheduling::job_ended();
        }
    }

    pub(crate) fn count_heartbeat(self, is_written: bool) {
        match self {
            Self::Scheduler if is_written => scheduling::heartbeat(),
            Self::Scheduler => scheduling::job_heartbeat_failed(),
            Self::DagProcessor if is_written => dag_processing::heartbeat(),
            Self::DagProcessor | Self::Triggerer | Self::DagTest => {}
        }
    }
}
