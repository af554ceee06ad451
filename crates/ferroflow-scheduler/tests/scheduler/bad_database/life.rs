//! One life: a run from its start to its end, and what is left of it.

use std::sync::Arc;

use ferroflow_component::{JobType, job_row};
use ferroflow_db::task_instance::execution::Continuation;
use ferroflow_db::task_instance::overdue;
use ferroflow_db::testing::texts;
use ferroflow_db::{Json, ScopedFutureExt as _};
use ferroflow_execution::Host;
use ferroflow_executor::{ExecutorSet, NamedExecutor, executor_events};
use ferroflow_model::admission::ExecutorName;
use ferroflow_model::state::TaskState;
use ferroflow_operations::dag_run::RunMaking;
use ferroflow_scheduler::LogPaths;
use ferroflow_scheduler::cycle::{CycleReport, Step};
use ferroflow_scheduler::executors::Executors;
use ferroflow_scheduler::scheduler::{Parts, Scheduler};
use ferroflow_telemetry::{chain, clock};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::bad_database::place::{Place, START};
use crate::bad_database::work::{Hands, SharedDesk, Worker, locked};

/// So often something may happen before a life has no end.
const MAX_ROUNDS: usize = 60;

/// What is left of a life: rows, in words, and the processes that ran.
pub(crate) type Left = Vec<String>;

/// Each is asked of one run.
const FACTS: [&str; 10] = [
    "SELECT concat('run ', state) AS answer FROM dag_run WHERE dag_id = 'life' AND run_id = '{run}'",
    "SELECT concat('other run ', state) AS answer FROM dag_run WHERE dag_id = 'other' AND run_id = '{run}'",
    "SELECT concat('instance ', task_id, ' ', map_index, ' ', COALESCE(state, 'none'), ' ', try_number, ' ', max_tries) \
     AS answer FROM task_instance WHERE run_id = '{run}'",
    "SELECT concat('earlier try ', task_id, ' ', map_index, ' ', COALESCE(state, 'none'), ' ', try_number) AS answer \
     FROM task_instance_history WHERE run_id = '{run}'",
    "SELECT concat('log ', event, ' ', COALESCE(task_id, ''), ' ', COALESCE(map_index, -9), ' ', \
     COALESCE(try_number, -9)) AS answer FROM log WHERE run_id = '{run}'",
    "SELECT concat('xcom ', task_id, ' ', map_index, ' ', xcom.key) AS answer FROM xcom WHERE run_id = '{run}'",
    "SELECT concat('put off ', ti.task_id) AS answer FROM task_reschedule \
     JOIN task_instance AS ti ON ti.id = task_reschedule.ti_id WHERE ti.run_id = '{run}'",
    "SELECT concat('list ', task_id, ' ', length) AS answer FROM task_map WHERE run_id = '{run}'",
    "SELECT concat('asset event ', source_task_id) AS answer FROM asset_event WHERE source_run_id = '{run}'",
    "SELECT concat('rendered ', task_id) AS answer FROM rendered_task_instance_fields WHERE run_id = '{run}'",
];

/// The same of the runs that schedulers make, by the ids that runs had before: one for its time, one for the asset.
const MADE: &str = "SELECT concat('made ', dag_id, ' ', run_type, ' ', state) AS answer FROM dag_run \
                    WHERE dag_id IN ('due', 'consumer') AND id > {last}";
const FACTS_OF_MADE: [&str; 4] = [
    MADE,
    "SELECT concat('instance of ', ti.dag_id, ' ', task_id, ' ', COALESCE(ti.state, 'none'), ' ', try_number) AS answer \
     FROM task_instance AS ti JOIN dag_run ON dag_run.dag_id = ti.dag_id AND dag_run.run_id = ti.run_id \
     WHERE ti.dag_id IN ('due', 'consumer') AND dag_run.id > {last}",
    "SELECT concat('consumed by ', dag_id) AS answer FROM dagrun_asset_event \
     JOIN dag_run ON dag_run.id = dagrun_asset_event.dag_run_id WHERE dag_run.id > {last}",
    "SELECT concat('next run of ', dag_id) AS answer FROM dag WHERE next_dagrun_create_after > '2025-01-01 00:00:00'",
];

impl Place {
    /// Lives through a run. Whatever the database does, it comes to its end.
    pub(crate) async fn live(&self, run_id: &str, job_id: i64, now: &mut Timestamp) -> Result<Left, String> {
        clock::pretend(Some(*now));
        let callbacks = self.count("callback").await;
        let last = self.last_run().await;
        self.make_run(run_id, *now).await;
        self.make_due(*now).await;
        let desk = SharedDesk::default();
        let host = Host { name: "host".to_owned(), user: "somebody".to_owned() };
        let mut scheduler = Scheduler::new(self.parts(job_id, &desk), *now);
        let making = RunMaking::new(&self.settings, "somebody".to_owned(), None).unwrap();
        let mut worker = Worker { service: self.service(), making, host, desk: Arc::clone(&desk), pid: 100 };
        let mut troubles = Vec::new();
        for _ in 0..MAX_ROUNDS {
            *now += SignedDuration::from_secs(2);
            clock::pretend(Some(*now));
            job_row::beat(&self.direct, JobType::Scheduler, job_id, *now).await.unwrap();
            self.cycle(&mut scheduler, *now, &mut troubles).await;
            Box::pin(worker.work(self)).await;
            self.fire(&desk, *now).await;
            if self.has_ended(run_id, last).await && scheduler.is_idle() {
                let mut left = self.left_of(run_id, last).await;
                left.push(format!("{} callbacks", self.count("callback").await - callbacks));
                left.extend(locked(&desk).begun.iter().map(|process| format!("process {process}")));
                left.sort();
                return Ok(left);
            }
        }
        Err(format!("no end of {run_id} is in sight: {:#?}\n{troubles:#?}", self.left_of(run_id, last).await))
    }

    async fn cycle(&self, scheduler: &mut Scheduler, now: Timestamp, troubles: &mut Vec<String>) {
        let mut report = CycleReport::default();
        let mut next = Some(Step::ExecutorEvents);
        while let Some(step) = next {
            // Futures nest deeper than the compiler follows.
            let stepped = Box::pin(scheduler.step(step, &mut report, now));
            next = match self.disturbance.act(&format!("{step:?}"), stepped).await {
                Ok(next) => next,
                Err(error) => {
                    troubles.push(format!("{step:?}: {}", chain(&error)));
                    None
                }
            };
        }
        troubles.extend(report.examined.put_off.into_iter().map(|(_, obstacle)| format!("{obstacle:?}")));
    }

    fn parts(&self, job_id: i64, desk: &SharedDesk) -> Parts {
        let name = ExecutorName { alias: None, module_path: "test.Hands".into(), team: None };
        let (sender, events) = executor_events();
        let executor = NamedExecutor::new(name, &sender, |events| Arc::new(Hands::new(desk, events)));
        Parts {
            cx: self.context(job_id),
            paths: LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap(),
            executors: Executors::new(ExecutorSet::new([executor]), events),
            width: 1,
        }
    }

    /// Triggers fire for those that wait.
    async fn fire(&self, desk: &SharedDesk, now: Timestamp) {
        let ids = &std::mem::take(&mut locked(desk).deferred);
        if ids.is_empty() {
            return;
        }
        let kwargs = &Json::from(json!({"event": null}));
        let fired = self.direct.transact(|tx| {
            async move {
                let continuation = Continuation { method: "go_on", kwargs };
                overdue::resume_timed_out(tx, ids, TaskState::Deferred, continuation, now).await.map(drop)
            }
            .scope_boxed()
        });
        fired.await.unwrap();
    }

    async fn has_ended(&self, run_id: &str, last: i64) -> bool {
        let states = texts(&self.direct, &FACTS[0].replace("{run}", run_id)).await.unwrap();
        if states != ["run failed"] && states != ["run success"] {
            return false;
        }
        let made = texts(&self.direct, &MADE.replace("{last}", &last.to_string())).await.unwrap();
        made.len() >= 2 && made.iter().all(|run| run.ends_with(" success"))
    }

    async fn left_of(&self, run_id: &str, last: i64) -> Left {
        let mut left = Vec::new();
        for question in FACTS {
            left.extend(texts(&self.direct, &question.replace("{run}", run_id)).await.unwrap());
        }
        for question in FACTS_OF_MADE {
            left.extend(texts(&self.direct, &question.replace("{last}", &last.to_string())).await.unwrap());
        }
        left
    }

    /// The id of the newest run.
    async fn last_run(&self) -> i64 {
        let question = "SELECT concat(COALESCE(MAX(id), 0), '') AS answer FROM dag_run";
        texts(&self.direct, question).await.unwrap()[0].parse().unwrap()
    }

    async fn count(&self, table: &str) -> i64 {
        let question = format!("SELECT concat(COUNT(*), '') AS answer FROM {table}");
        texts(&self.direct, &question).await.unwrap()[0].parse().unwrap()
    }
}

/// What one life has left and another has not.
pub(crate) fn difference(clean: &Left, left: &Left) -> Option<String> {
    let only_in = |one: &Left, other: &Left| {
        let mut other = other.clone();
        let missing = one.iter().filter(|fact| match other.iter().position(|found| found == *fact) {
            Some(place) => {
                other.remove(place);
                false
            }
            None => true,
        });
        missing.cloned().collect::<Vec<_>>()
    };
    let (lost, invented) = (only_in(clean, left), only_in(left, clean));
    (!lost.is_empty() || !invented.is_empty())
        .then(|| format!("lost: {lost:?}, invented or done twice: {invented:?}"))
}

/// Announces a scheduler.
pub(crate) async fn announce(place: &Place) -> i64 {
    clock::pretend(Some(START));
    let host = Host { name: "host".to_owned(), user: "somebody".to_owned() };
    job_row::start(&place.direct, JobType::Scheduler, &host, START).await.unwrap()
}
