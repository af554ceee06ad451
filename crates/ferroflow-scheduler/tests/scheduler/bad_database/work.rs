//! An executor that runs no processes: what tasks do is what their names say, and it is told as supervisors tell it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use ferroflow_execution::api::{
    AssetProfile, Deferral, Ended, ExecutionApi, Reschedule, Retry, StateUpdate, Success,
};
use ferroflow_execution::wire::{Asker, Client, SdkVersion, TaskRequests};
use ferroflow_execution::{
    Delivered, HeldSlot, Host, InProcessApi, MaskRules, Masker, Reports, Service, Undelivered,
};
use ferroflow_executor::{
    EventKind, EventSender, ExecuteTask, Executor, Orphan, Slots, TaskTry, Workload, WorkloadKey,
};
use ferroflow_model::state::TaskState;
use ferroflow_model::supervision::{Ending, Exit};
use ferroflow_operations::dag_run::RunMaking;
use ferroflow_python::Answers as _;
use ferroflow_python::message::from_json;
use ferroflow_telemetry::clock;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::bad_database::disturbance::Disturbance;
use crate::bad_database::place::{ASSET, OTHER_DAG, Place};

/// What an executor was given, and where it tells what happens.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) given: VecDeque<ExecuteTask>,
    events: Option<EventSender>,
    /// How often each task was given out.
    stays: BTreeMap<(String, i32), usize>,
    /// The processes that have begun.
    pub(crate) begun: Vec<String>,
    /// Tasks that wait for a trigger.
    pub(crate) deferred: Vec<Uuid>,
}

pub(crate) type SharedDesk = Arc<Mutex<Desk>>;

pub(crate) fn locked(desk: &SharedDesk) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap()
}

/// No scheduler leaves anything behind for it.
pub(crate) struct Hands(SharedDesk);

impl Hands {
    pub(crate) fn new(desk: &SharedDesk, events: EventSender) -> Self {
        locked(desk).events = Some(events);
        Self(Arc::clone(desk))
    }
}

impl Executor for Hands {
    fn slots(&self) -> Slots {
        Slots { all: 32, ..Slots::default() }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        for workload in workloads {
            let Workload::ExecuteTask(task) = workload else { panic!("{workload:?} is not asked for") };
            locked(&self.0).given.push_back(task);
        }
    }

    fn terminate(&self, id: Uuid) {
        panic!("task instance {id} is to be ended, which nobody wants");
    }

    fn can_revoke(&self) -> bool {
        true
    }

    fn may_have(&self, orphan: &Orphan) -> bool {
        panic!("{orphan:?} is taken for an orphan")
    }
}

pub(crate) struct Worker {
    pub(crate) service: Service,
    pub(crate) making: RunMaking,
    pub(crate) host: Host,
    pub(crate) desk: SharedDesk,
    pub(crate) pid: i32,
}

impl Worker {
    /// Runs what was given out, one after the other.
    pub(crate) async fn work(&mut self, place: &Place) {
        loop {
            let next = locked(&self.desk).given.pop_front();
            let Some(workload) = next else { return };
            self.pid += 1;
            let happened = self.run(place, &workload).await;
            let (id, key, try_number) = (workload.ti.id, workload.ti.key(), workload.ti.try_number);
            let task = TaskTry { id, key, try_number };
            let events = locked(&self.desk).events.clone().expect("there is an executor");
            for kind in happened {
                events.send(WorkloadKey::Task(task.clone()), kind);
            }
        }
    }

    fn api(&self) -> Arc<dyn ExecutionApi> {
        Arc::new(InProcessApi::new(self.service.clone()).with_run_making(self.making.clone()))
    }

    /// What a supervisor does, without a process.
    async fn run(&self, place: &Place, workload: &ExecuteTask) -> Vec<EventKind> {
        let ti = &workload.ti;
        let stay = {
            let mut desk = locked(&self.desk);
            let stays = desk.stays.entry((ti.task_id.clone(), ti.map_index)).or_default();
            *stays += 1;
            *stays
        };
        let is_first = stay == 1;
        if ti.task_id == "unstarted" && is_first {
            return vec![EventKind::NotStarted("no room".to_owned())];
        }
        let hurry = &CancellationToken::new();
        let (service, host, pid) = (&self.service, &self.host, self.pid);
        let (id, key, try_number) = (ti.id, ti.key(), ti.try_number);
        let (slot, undelivered) = (HeldSlot::default(), Undelivered::default());
        let api: &Arc<dyn ExecutionApi> = &self.api();
        let reports = Reports { api, id, key, try_number, host, pid, hurry, slot, undelivered };
        let act = |what| format!("{} {} {stay} {what}", ti.task_id, ti.map_index);
        let disturbance = &place.disturbance;
        if let Err(refusal) = disturbance.act(&act("begins"), Box::pin(reports.begin())).await {
            return vec![EventKind::NotStarted(refusal.to_string())];
        }
        let begun = format!("{} {} {try_number} {stay}", ti.task_id, ti.map_index);
        locked(&self.desk).begun.push(begun);
        let beat = [(id, pid)];
        // One that is not heard is made up for by the next.
        let lives = Box::pin(service.heartbeats(&host.name, &beat));
        if let Ok(tracked) = disturbance.act(&act("lives"), lives).await {
            assert!(tracked.refused.is_empty(), "{tracked:?}");
        }
        let requests = TaskRequests {
            client: Client { api: Arc::clone(api), masker: Arc::new(Masker::new(MaskRules::default())) },
            instance: id,
            asker: Asker::default(),
            sdk: SdkVersion::CURRENT,
        };
        self.ask(disturbance, &requests, workload).await;
        let state = if ti.task_id == "die" && is_first {
            let ending = Ending { exit: Exit::Signal(9), reported: None, ordered: None };
            disturbance.act(&act("ends"), Box::pin(reports.end(ending))).await.unwrap()
        } else {
            let update = update(&ti.task_id, is_first);
            let told = disturbance.act(&act("tells"), Box::pin(reports.report_state(&update))).await.unwrap();
            if update.state() == TaskState::Deferred {
                locked(&self.desk).deferred.push(id);
            }
            (told == Delivered::Stored).then(|| update.state())
        };
        state.map(EventKind::StateSet).into_iter().chain([EventKind::Ended]).collect()
    }

    /// What the task asks for while it runs. All of it is granted.
    async fn ask(&self, disturbance: &Disturbance, requests: &TaskRequests, workload: &ExecuteTask) {
        let ti = &workload.ti;
        let of_task = json!({"dag_id": ti.dag_id, "run_id": ti.run_id, "task_id": ti.task_id,
            "map_index": ti.map_index, "key": "return_value"});
        let with = |more: Value| {
            let mut message = of_task.clone();
            message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            message
        };
        let asked = match ti.task_id.as_str() {
            "push" => vec![
                ("SetXCom", with(json!({"value": [1, 2], "mapped_length": 2, "dag_result": false}))),
                ("GetXCom", with(json!({"include_prior_dates": false}))),
                ("SetRenderedFields", json!({"rendered_fields": {"a": 1}})),
                ("PutVariable", json!({"key": ti.run_id, "value": "set", "description": null})),
                ("GetVariable", json!({"key": ti.run_id})),
            ],
            "trigger" => vec![(
                "TriggerDagRun",
                json!({"dag_id": OTHER_DAG, "run_id": ti.run_id, "conf": {}, "reset_dag_run": false}),
            )],
            _ => Vec::new(),
        };
        for (kind, mut message) in asked {
            message.as_object_mut().unwrap().insert("type".to_owned(), json!(kind));
            let asking = async {
                let (answer, third) = requests.answer(kind, from_json(message)).await.into_parts();
                let text = format!("{answer} {third}");
                let is_granted = !text.contains("rror") && !text.contains("ALREADY");
                if is_granted { Ok(()) } else { Err(text) }
            };
            disturbance.act(kind, Box::pin(asking)).await.unwrap_or_else(|text| panic!("{kind}: {text}"));
        }
    }
}

fn update(task_id: &str, is_first: bool) -> StateUpdate {
    let now = clock::now();
    let ended = Ended { end_date: now, rendered_map_index: None };
    match (task_id, is_first) {
        ("retry", true) => StateUpdate::UpForRetry(Retry {
            end_date: now,
            rendered_map_index: None,
            retry_delay_seconds: None,
            retry_reason: None,
        }),
        ("sensor", true) => StateUpdate::UpForReschedule(Reschedule {
            reschedule_date: now + SignedDuration::from_secs(1),
            end_date: now,
        }),
        ("defer", true) => StateUpdate::Deferred(Deferral {
            classpath: "a.Trigger".to_owned(),
            trigger_kwargs: None,
            trigger_timeout: None,
            queue: None,
            next_method: "go_on".to_owned(),
            next_kwargs: None,
            rendered_map_index: None,
        }),
        ("skip", _) => StateUpdate::Skipped(ended),
        ("fail", _) => StateUpdate::Failed(ended),
        _ => {
            let (name, uri) = (Some(ASSET.to_owned()), Some(ASSET.to_owned()));
            let asset = AssetProfile { name, uri, kind: "Asset".to_owned() };
            StateUpdate::Success(Success {
                end_date: now,
                task_outlets: (task_id == "push").then(|| vec![asset]),
                outlet_events: None,
                rendered_map_index: None,
            })
        }
    }
}
