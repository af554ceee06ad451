//! What processes do, and what is told of them.

use ferroflow_db::task_instance::execution::Continuation;
use ferroflow_db::task_instance::overdue;
use ferroflow_db::{Json, ScopedFutureExt as _};
use ferroflow_execution::Refusal;
use ferroflow_execution::api::{
    AssetProfile, Deferral, Ended, EnterRunning, NewXCom, Reschedule, Retry, StateUpdate, Success,
    XComAddress,
};
use ferroflow_executor::EventKind;
use ferroflow_model::state::TaskState;
use jiff::SignedDuration;
use serde_json::json;
use uuid::Uuid;

use crate::simulation::checks::Doer;
use crate::simulation::schedulers::{Happens, Simulation};
use crate::simulation::snapshot::InstanceKey;
use crate::simulation::workers::{Does, Process, Stage, locked};
use crate::simulation::world::{ASSET, Kind};

impl Simulation {
    /// A process does what is next.
    pub(crate) async fn go_on(&mut self, pid: i32) -> Option<(Doer, String)> {
        let process = locked(&self.field).processes.get(&pid).cloned()?;
        if self.wait_while_stopped(process.owner, &Happens::Process(pid)) {
            return None;
        }
        let what = match process.stage {
            Stage::Handed => self.begin(pid, process).await,
            Stage::Live => self.end(pid, process).await,
            Stage::Unwanted => self.end_unwanted(pid, &process).await,
        };
        what.map(|what| (Doer::Worker, format!("process {pid} {what}")))
    }

    async fn begin(&mut self, pid: i32, mut process: Process) -> Option<String> {
        process.does = self.choose(&process);
        match process.does {
            Does::NotStart => {
                self.over(pid, &process, vec![EventKind::NotStarted("no room".to_owned())]);
                return Some("is not started".to_owned());
            }
            Does::GetLost => {
                locked(&self.field).processes.insert(pid, process);
                return None;
            }
            _ => {}
        }
        let request = EnterRunning {
            hostname: self.schedulers[process.owner].host.clone(),
            unixname: "somebody".to_owned(),
            pid,
            start_date: self.now,
        };
        match self.place.service.run(process.ti.id, &request).await {
            Ok(context) => {
                (process.stage, process.should_retry) = (Stage::Live, context.should_retry);
                locked(&self.field).processes.insert(pid, process);
                let is_long = !self.is_calm && self.chance.percent(6);
                let wait = if is_long {
                    self.chance.millis(40_000, 100_000)
                } else {
                    self.chance.millis(100, 9_000)
                };
                self.after(wait, Happens::Process(pid));
                Some("starts".to_owned())
            }
            Err(refusal) => {
                must_be_a_refusal(&refusal);
                self.over(pid, &process, vec![EventKind::NotStarted(refusal.to_string())]);
                Some(format!("may not start: {refusal}"))
            }
        }
    }

    /// What becomes of a try, as chance has it.
    fn choose(&mut self, process: &Process) -> Does {
        let task = self.world.task(&process.ti.dag_id, &process.ti.task_id);
        let can_wait = task.is_some_and(|task| task.is_sensor);
        let roughness = if self.is_calm { 0 } else { self.world.roughness };
        if can_wait && self.chance.percent(40) {
            return if self.chance.percent(50) { Does::Reschedule } else { Does::Defer };
        }
        if !self.chance.percent(roughness) {
            return Does::Succeed;
        }
        self.chance.weighted(&[
            (8, Does::Fail),
            (3, Does::Skip),
            (2, Does::Die),
            (2, Does::DieUnseen),
            (2, Does::NotStart),
            (1, Does::GetLost),
            (1, Does::FallSilent),
        ])
    }

    async fn end(&mut self, pid: i32, process: Process) -> Option<String> {
        let service = self.place.service.clone();
        let (id, try_number) = (process.ti.id, process.ti.try_number);
        let told = match process.does {
            Does::FallSilent | Does::GetLost | Does::NotStart => return None,
            Does::DieUnseen => {
                self.over(pid, &process, vec![EventKind::Ended]);
                return Some("dies unseen".to_owned());
            }
            Does::Die => match service.fail_unreported(id, try_number, "it died").await {
                Ok(outcome) => Ok(outcome.new_state().flatten()),
                Err(refusal) if refusal.status() == Some(404) => {
                    service.ended_unwanted(&process.ti.key(), try_number).await.unwrap();
                    Ok(None)
                }
                Err(refusal) => Err(refusal),
            },
            does => {
                self.push(&process).await;
                let update = self.update(does, &process);
                service.set_state(id, &update).await.map(|_| Some(update.state()))
            }
        };
        match told {
            Ok(state) => {
                if state == Some(TaskState::Deferred) && self.chance.percent(80) {
                    let wait = self.chance.millis(500, 30_000);
                    self.after(wait, Happens::Fire(self.key_of(&process)));
                }
                let mut events: Vec<EventKind> = state.into_iter().map(EventKind::StateSet).collect();
                events.push(EventKind::Ended);
                self.over(pid, &process, events);
                Some(format!("does {:?}", process.does))
            }
            Err(refusal) => {
                must_be_a_refusal(&refusal);
                self.end_unwanted(pid, &process).await
            }
        }
    }

    async fn end_unwanted(&mut self, pid: i32, process: &Process) -> Option<String> {
        let key = process.ti.key();
        self.place.service.ended_unwanted(&key, process.ti.try_number).await.unwrap();
        self.over(pid, process, vec![EventKind::Ended]);
        Some("is not wanted any more".to_owned())
    }

    /// A process is gone, and its executor tells these.
    fn over(&mut self, pid: i32, process: &Process, events: Vec<EventKind>) {
        let mut field = locked(&self.field);
        field.processes.remove(&pid);
        for event in events {
            field.tell(process, event);
        }
    }

    /// What a task leaves for those behind it.
    async fn push(&mut self, process: &Process) {
        let ti = &process.ti;
        let Some(dag) = self.world.dag(&ti.dag_id) else { return };
        let Some(task) = dag.tasks.iter().find(|task| task.id == ti.task_id) else { return };
        if process.does != Does::Succeed {
            return;
        }
        let behind: Vec<String> = dag
            .tasks
            .iter()
            .filter(|other| other.upstream.contains(&task.id))
            .map(|other| other.id.clone())
            .collect();
        let (key, value, mapped_length) = match task.kind {
            Kind::Pusher => {
                let length = self.chance.between(0, 3);
                ("return_value", json!(vec![0; usize::try_from(length).unwrap()]), Some(length))
            }
            Kind::Mapped(_) | Kind::MappedOver(_) => ("return_value", json!(1), None),
            Kind::Branch => {
                let followed: Vec<&String> = behind.iter().filter(|_| self.chance.percent(60)).collect();
                ("skipmixin_key", json!({"followed": followed}), None)
            }
            Kind::Plain | Kind::Empty => return,
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
        if let Err(refusal) = self.place.service.set_xcom(&new).await {
            must_be_a_refusal(&refusal);
        }
    }

    fn update(&mut self, does: Does, process: &Process) -> StateUpdate {
        let ended = Ended { end_date: self.now, rendered_map_index: None };
        match does {
            Does::Fail if process.should_retry => StateUpdate::UpForRetry(Retry {
                end_date: self.now,
                rendered_map_index: None,
                retry_delay_seconds: None,
                retry_reason: None,
            }),
            Does::Fail => StateUpdate::Failed(ended),
            Does::Skip => StateUpdate::Skipped(ended),
            Does::Reschedule => StateUpdate::UpForReschedule(Reschedule {
                reschedule_date: self.now + self.chance.millis(500, 20_000),
                end_date: self.now,
            }),
            Does::Defer => StateUpdate::Deferred(Deferral {
                classpath: "simulation.Trigger".to_owned(),
                trigger_kwargs: None,
                trigger_timeout: Some(SignedDuration::from_secs(40)),
                queue: None,
                next_method: "go_on".to_owned(),
                next_kwargs: None,
                rendered_map_index: None,
            }),
            _ => {
                let task = self.world.task(&process.ti.dag_id, &process.ti.task_id);
                let asset = AssetProfile {
                    name: Some(ASSET.to_owned()),
                    uri: Some(ASSET.to_owned()),
                    kind: "Asset".to_owned(),
                };
                StateUpdate::Success(Success {
                    end_date: self.now,
                    task_outlets: task.filter(|task| task.writes_asset).map(|_| vec![asset]),
                    outlet_events: None,
                    rendered_map_index: None,
                })
            }
        }
    }

    /// A trigger fires, unless nothing waits for it any more.
    pub(crate) async fn fire(&mut self, key: &InstanceKey) -> Option<(Doer, String)> {
        let id = self.seen.instances.get(key)?.id;
        let now = self.now;
        let kwargs = &Json::from(json!({"event": null}));
        let fired = self.place.db.transact(|tx| {
            async move {
                let continuation = Continuation { method: "go_on", kwargs };
                overdue::resume_timed_out(tx, &[id], TaskState::Deferred, continuation, now).await
            }
            .scope_boxed()
        });
        fired.await.unwrap();
        Some((Doer::Triggerer, "a trigger fires".to_owned()))
    }

    /// The tasks of a scheduler show that they live, and those that should not are ended.
    pub(crate) async fn beat_for_processes(&mut self, number: usize) {
        let processes: Vec<(i32, Process)> =
            locked(&self.field).of(number).map(|(pid, process)| (*pid, process.clone())).collect();
        let is_lost = |process: &Process| process.stage == Stage::Handed && process.does == Does::GetLost;
        let live = || processes.iter().filter(|(_, process)| process.stage == Stage::Live);
        let ids: Vec<Uuid> = live().map(|(_, process)| process.ti.id).collect();
        let tracked: Vec<(Uuid, i32)> = live()
            .filter(|(_, process)| process.does != Does::FallSilent)
            .map(|(pid, process)| (process.ti.id, *pid))
            .collect();
        let (service, host) = (&self.place.service, &self.schedulers[number].host);
        let mut refused = service.heartbeats(host, &tracked).await.unwrap().refused;
        refused.extend(service.no_longer_running(&ids).await.unwrap());
        let is_queued = |id: Uuid| {
            self.seen.instances.values().any(|row| row.id == id && row.state == Some(TaskState::Queued))
        };
        let mut field = locked(&self.field);
        for (pid, process) in &processes {
            let id = process.ti.id;
            let is_refused = refused.iter().any(|(other, _)| *other == id);
            let is_unwanted = if is_lost(process) { !is_queued(id) } else { is_refused };
            let Some(process) = field.processes.get_mut(pid) else { continue };
            process.is_cut_off = false;
            if is_unwanted {
                process.stage = Stage::Unwanted;
                field.stirred.push(*pid);
            }
        }
    }

    fn key_of(&self, process: &Process) -> InstanceKey {
        let ti = &process.ti;
        let run = self.seen.runs.iter().find(|(_, run)| run.dag_id == ti.dag_id && run.run_id == ti.run_id);
        InstanceKey {
            run: run.map_or(0, |(id, _)| *id),
            task_id: ti.task_id.clone(),
            map_index: ti.map_index,
        }
    }
}

/// Nothing but what the API refuses may go wrong.
fn must_be_a_refusal(refusal: &Refusal) {
    assert!(matches!(refusal.status(), Some(400..500)), "{refusal}");
}
