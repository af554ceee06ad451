//! A scheduler at work, on a clock of its own, and what becomes of the tasks that it hands over.

use std::sync::Arc;

use ferroflow_component::{JobType, job_row};
use ferroflow_db::Json;
use ferroflow_execution::api::{
    AssetProfile, AssetRef, Deferral, EnterRunning, NewXCom, Reschedule, Retry, StateUpdate, Success,
    XComAddress,
};
use ferroflow_execution::{Host, Service};
use ferroflow_executor::{EventKind, ExecutorSet, NamedExecutor, WorkloadInstance, executor_events};
use ferroflow_model::admission::ExecutorName;
use ferroflow_scheduler::cycle::CycleReport;
use ferroflow_scheduler::executors::Executors;
use ferroflow_scheduler::run::RunSettings;
use ferroflow_scheduler::scheduler::{Parts, Scheduler};
use ferroflow_scheduler::{Context, Error, LogPaths};
use ferroflow_telemetry::clock;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::bad_rows::place::Place;
use crate::bad_rows::workers::{Hands, Process, Shared, Stage, locked};

/// Airflow's times, shortened: every chore has its turn.
const SETTINGS: [(&str, &str); 8] = [
    ("AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME", "1"),
    ("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD", "30"),
    ("AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL", "10"),
    ("AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT", "60"),
    ("AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL", "10"),
    ("AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT_CHECK_INTERVAL", "10"),
    ("AIRFLOW__SCHEDULER__TRIGGER_TIMEOUT_CHECK_INTERVAL", "10"),
    ("AIRFLOW__SCHEDULER__PARSING_CLEANUP_INTERVAL", "10"),
];

/// By so much the clock goes on from cycle to cycle.
const STEP: SignedDuration = SignedDuration::from_secs(10);

const SLOTS: usize = 64;

/// Which tasks come to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tasks {
    /// Those whose names do not say otherwise.
    AsNamed,
    /// All of them, in the end.
    All,
}

pub(crate) struct Life {
    pub(crate) cx: Arc<Context>,
    pub(crate) now: Timestamp,
    scheduler: Scheduler,
    field: Shared,
    host: String,
    tasks: Tasks,
}

impl Life {
    /// A scheduler that starts on a host.
    pub(crate) async fn begin(place: &Place, host: &str, tasks: Tasks, now: Timestamp) -> Self {
        clock::pretend(Some(now));
        let cx = place.scheduler_with(&SETTINGS).await;
        let named = Host { name: host.to_owned(), user: "somebody".to_owned() };
        let job_id = job_row::start(&cx.db, JobType::Scheduler, &named, now).await.unwrap();
        let cx = Arc::new(Context {
            job_id,
            run_settings: RunSettings { job_id: Some(job_id), ..cx.run_settings },
            ..cx
        });
        let field = Shared::default();
        let name = ExecutorName { alias: None, module_path: "tests.Hands".into(), team: None };
        let (sender, events) = executor_events();
        let executor =
            NamedExecutor::new(name, &sender, |events| Arc::new(Hands::new(0, SLOTS, host, &field, events)));
        let parts = Parts {
            cx: Arc::clone(&cx),
            paths: LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap(),
            executors: Executors::new(ExecutorSet::new([executor]), events),
            width: 1,
        };
        Self { cx, now, scheduler: Scheduler::new(parts, now), field, host: host.to_owned(), tasks }
    }

    /// One cycle, and what the tasks do that it has handed over.
    pub(crate) async fn cycle(&mut self) -> Result<CycleReport, Error> {
        let done = self.scheduler.cycle(self.now).await;
        let processes = std::mem::take(&mut locked(&self.field).processes);
        for process in processes.into_values() {
            for happening in self.play(&process).await {
                locked(&self.field).tell(&process, happening);
            }
        }
        self.now += STEP;
        clock::pretend(Some(self.now));
        // What cannot be written is no reason to stop here.
        drop(job_row::beat(&self.cx.db, JobType::Scheduler, self.cx.job_id, self.now).await);
        done
    }

    async fn play(&self, process: &Process) -> Vec<EventKind> {
        let (ti, service) = (&process.ti, &self.cx.service);
        let is_named = |name| self.tasks == Tasks::AsNamed && ti.task_id == name;
        if is_named("left") || is_named("asks") {
            return Vec::new();
        }
        if process.stage == Stage::Unwanted {
            return vec![EventKind::Ended];
        }
        let begin = EnterRunning {
            hostname: self.host.clone(),
            unixname: "somebody".to_owned(),
            pid: 1,
            start_date: self.now,
        };
        if let Err(refusal) = service.run(ti.id, &begin).await {
            return vec![EventKind::NotStarted(refusal.to_string())];
        }
        if is_named("hung") {
            return Vec::new();
        }
        let update = self.update(ti);
        let asked = match ask(service, ti).await {
            Ok(()) => service.set_state(ti.id, &update).await.map(drop),
            refused => refused,
        };
        let Err(refusal) = asked else {
            return vec![EventKind::StateSet(update.state()), EventKind::Ended];
        };
        let reason = format!("it could not tell: {refusal}");
        drop(service.fail_unreported(ti.id, ti.try_number, &reason).await);
        vec![EventKind::Ended]
    }

    /// What a task says in the end.
    fn update(&self, ti: &WorkloadInstance) -> StateUpdate {
        let end_date = self.now;
        match (self.tasks, ti.task_id.as_str()) {
            (Tasks::AsNamed, "waits") => StateUpdate::Deferred(Deferral {
                classpath: "tests.Trigger".to_owned(),
                trigger_kwargs: None,
                trigger_timeout: Some(SignedDuration::from_secs(40)),
                queue: None,
                next_method: "go_on".to_owned(),
                next_kwargs: None,
                rendered_map_index: None,
            }),
            (Tasks::AsNamed, "again") => StateUpdate::UpForRetry(Retry {
                end_date,
                rendered_map_index: None,
                retry_delay_seconds: None,
                retry_reason: None,
            }),
            (Tasks::AsNamed, "looks") => StateUpdate::UpForReschedule(Reschedule {
                reschedule_date: self.now + SignedDuration::from_secs(60),
                end_date,
            }),
            (_, name) => {
                let asset = AssetProfile {
                    name: Some("x".to_owned()),
                    uri: Some("x".to_owned()),
                    kind: "Asset".to_owned(),
                };
                StateUpdate::Success(Success {
                    end_date,
                    task_outlets: (name == "writes").then(|| vec![asset]),
                    outlet_events: None,
                    rendered_map_index: None,
                })
            }
        }
    }

    /// It is gone.
    pub(crate) async fn end(self) {
        self.cx.db.close().await;
        clock::pretend(None);
    }
}

/// What a task reads, and leaves for those behind it.
async fn ask(service: &Service, ti: &WorkloadInstance) -> Result<(), ferroflow_execution::Refusal> {
    let (key, value, mapped_length) = match ti.task_id.as_str() {
        "push" => ("return_value", json!([1, 2]), Some(2)),
        "each" => ("return_value", json!(1), None),
        "writes" => return service.asset_state(&AssetRef::Name("x".to_owned()), "seen").await.map(drop),
        "branch" => ("skipmixin_key", json!({"followed": ["one"]}), None),
        _ => return Ok(()),
    };
    let address = XComAddress {
        dag_id: ti.dag_id.clone(),
        run_id: ti.run_id.clone(),
        task_id: ti.task_id.clone(),
        key: key.to_owned(),
    };
    let new = NewXCom {
        address,
        map_index: ti.map_index,
        value: Json::from(value),
        dag_result: false,
        mapped_length,
    };
    service.set_xcom(&new).await.map(drop)
}
