//! What is measured of the steps, once they are done.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::monitoring::gauges::TaskCount;
use ferroflow_model::admission::{ClosedPool, InstanceKey, Refusal};
use ferroflow_model::outcome::Outcome;
use ferroflow_model::readiness::RunVerdict;
use ferroflow_model::state::{RunState, RunType, TaskState};
use ferroflow_telemetry::metrics::executing::{self, ExecutorTags};
use ferroflow_telemetry::metrics::scheduling::{self, PoolSlots};
use ferroflow_telemetry::metrics::{PoolTags, RunTags, TaskTags, runs};
use jiff::Timestamp;

use crate::create_runs::{Created, CreatedRuns, NotCreated};
use crate::cycle::CycleReport;
use crate::queue_tasks::{ExecutorSlots, LeftOut, QueuedTask, QueuedTasks};
use crate::refused::SetAside;
use crate::refused::{SetAsideLog, cause};
use crate::run::ActiveRun;

/// What was told the last time and is to be taken back when it is over.
#[derive(Debug, Default)]
pub(crate) struct Told {
    counts: HashSet<(TaskState, String, String, Option<String>)>,
    starving: HashSet<String>,
    /// Why a DAG gets no run.
    set_aside: HashMap<String, String>,
    /// What else is set aside.
    pub(crate) others: SetAsideLog,
    /// Pools that tasks wait for and that do not exist.
    missing_pools: HashSet<Arc<str>>,
}

impl Told {
    /// A cycle is done.
    pub(crate) fn cycle(&mut self, report: &CycleReport, now: Timestamp) {
        created(&report.created);
        self.log_set_aside(&report.created);
        for run in &report.started.started {
            if let Some(delay) = run.schedule_delay {
                runs::started(&run.dag_id, delay.as_secs_f64());
            }
        }
        self.others.put_off("queued run", &report.started.set_aside, now);
        let started = report.started.started.iter();
        let started = started.map(|run| SetAside::run(&run.dag_id, &run.run_id, String::new()));
        self.others.written("queued run", started);
        for run in report.examined.set_aside() {
            scheduling::set_aside(&run.dag_id, "run");
        }
        self.passes(&report.passes, now);
        for (chore, found) in &report.chores {
            self.others.rows(chore, found.set_aside());
            self.others.instances(chore, found.instances_set_aside());
            found.measure(self);
        }
    }

    /// Logs each reason once, whenever it is asked again: a DAG that gets no run is looked at again and again.
    fn log_set_aside(&mut self, report: &CreatedRuns) {
        for run in &report.created {
            self.set_aside.remove(&run.dag_id);
        }
        for refused in report.refused.iter().filter(|refused| what_is_wrong(&refused.reason).is_some()) {
            let reason = refused.reason.to_string();
            let cause = cause(&reason);
            if self.set_aside.get(&refused.dag_id).map(String::as_str) != Some(cause) {
                tracing::warn!(dag_id = refused.dag_id, reason, "DAG gets no run until this is fixed");
                self.set_aside.insert(refused.dag_id.clone(), cause.to_owned());
            }
        }
    }

    fn passes(&mut self, passes: &[QueuedTasks], now: Timestamp) {
        for pass in passes {
            if pass.is_busy {
                scheduling::critical_section_busy();
            }
            if let Some((took, reading)) = pass.took {
                scheduling::critical_section_passed(took, reading);
            }
            pass.queued.iter().for_each(|task| queued(task, now));
            self.others.dags(&pass.set_aside);
            let refused: Vec<SetAside> = pass.left_out.iter().filter_map(LeftOut::set_aside).collect();
            self.others.put_off("scheduled task instance", &refused, now);
            let rows = pass.queued.iter().map(|task| SetAside::instance(&task.row.key, String::new()));
            self.others.written("scheduled task instance", rows);
        }
        if let Some(last) = passes.iter().rfind(|pass| !pass.is_busy) {
            let executable = passes.iter().map(|pass| pass.queued.len()).sum();
            let starving = starving(last);
            scheduling::tasks(executable, starving.values().sum());
            for (pool, tasks) in &starving {
                scheduling::pool_starves(PoolTags { pool, team_name: None }, *tasks);
            }
            for pool in self.starving.iter().filter(|pool| !starving.contains_key(pool.as_str())) {
                scheduling::pool_starves(PoolTags { pool, team_name: None }, 0);
            }
            self.starving = starving.into_keys().map(str::to_owned).collect();
            self.log_missing_pools(last);
        }
    }

    /// Logs each once, as long as it is so: these tasks are looked at again and again. Says how many were new.
    fn log_missing_pools(&mut self, pass: &QueuedTasks) -> usize {
        let (mut missing, mut new) = (HashSet::new(), 0);
        for ClosedPool { pool, head, waiting, refusal } in &pass.closed_pools {
            if !matches!(refusal, Refusal::PoolMissing { .. }) {
                continue;
            }
            if !self.missing_pools.contains(pool) {
                new += 1;
                let InstanceKey { dag_id, run_id, task_id, .. } = head;
                tracing::warn!(
                    %pool, %dag_id, %run_id, %task_id, waiting,
                    "tasks wait for a pool that does not exist; create it with `ferroflow pools set`"
                );
            }
            missing.insert(Arc::clone(pool));
        }
        // Tasks that were not looked at may still wait.
        if pass.stopped.is_some() {
            missing.extend(self.missing_pools.drain());
        }
        self.missing_pools = missing;
        new
    }

    /// What was there the last time and is not any more is told to be none, once.
    pub(crate) fn task_counts(&mut self, counts: &[TaskCount]) {
        let tell = |state: TaskState, dag_id: &str, task_id: &str, queue: Option<&str>, number| {
            scheduling::instances_in_state(state.as_str(), TaskTags { dag_id, task_id }, queue, number);
        };
        let mut told = HashSet::with_capacity(counts.len());
        for TaskCount { state, dag_id, task_id, queue, total } in counts {
            tell(*state, dag_id, task_id, queue.as_deref(), *total);
            told.insert((*state, dag_id.clone(), task_id.clone(), queue.clone()));
        }
        for (state, dag_id, task_id, queue) in self.counts.difference(&told) {
            tell(*state, dag_id, task_id, queue.as_deref(), 0);
        }
        self.counts = told;
    }
}

fn created(report: &CreatedRuns) {
    for Created { dag_id, run_type, operators, deadlines, .. } in &report.created {
        runs::instances_created(RunTags { dag_id, run_type: run_type.as_str() }, operators);
        if *run_type == RunType::AssetTriggered {
            runs::triggered_by_assets();
        }
        if *deadlines > 0 {
            runs::deadlines_created(dag_id, *deadlines);
        }
    }
    for refused in &report.refused {
        if let Some(what) = what_is_wrong(&refused.reason) {
            scheduling::set_aside(&refused.dag_id, what);
        }
    }
}

/// What has to be mended; nothing if a run is only not due, or waits for room.
fn what_is_wrong(reason: &NotCreated) -> Option<&'static str> {
    Some(match reason {
        NotCreated::NoDefinition(_) => "definition",
        NotCreated::BadRow(_) => "row",
        NotCreated::Timetable(_) | NotCreated::NotTriggered => "timetable",
        NotCreated::PartitionMapper(_) => "partition mapper",
        NotCreated::InstanceRules(_) => "instance rules",
        NotCreated::BadParam(_) | NotCreated::BadRunId(_) | NotCreated::RunIdTaken(_) => "new run",
        NotCreated::Database(_) => "database",
        NotCreated::Rule(_)
        | NotCreated::Partition(_)
        | NotCreated::Held
        | NotCreated::Changed
        | NotCreated::Awaited(_) => return None,
    })
}

fn queued(task: &QueuedTask, now: Timestamp) {
    let row = &task.row;
    // One that has ended before has been ready before, too: how long it waited cannot be told.
    if row.end_date.is_some() {
        return;
    }
    if let Some(ready) = row.scheduled_dttm {
        let key = TaskTags { dag_id: &row.key.dag_id, task_id: &row.key.task_id };
        let waited = Duration::try_from(now.duration_since(ready)).unwrap_or_default();
        scheduling::queued(key, row.queue.as_deref().unwrap_or("default"), waited);
    }
}

/// How many wait for slots of each pool that has none, or too few.
fn starving(pass: &QueuedTasks) -> HashMap<&str, usize> {
    let closed = pass.closed_pools.iter().map(|closed| (&*closed.pool, closed.waiting));
    let refused = pass.refused.iter().filter_map(|refused| match &refused.refusal {
        Refusal::PoolFull { pool, .. }
        | Refusal::LargerThanPool { pool, .. }
        | Refusal::TooFewSlots { pool, .. }
        | Refusal::SlotsReserved { pool, .. } => Some((&**pool, refused.waiting)),
        _ => None,
    });
    let mut found = HashMap::new();
    for (pool, waiting) in closed.chain(refused) {
        *found.entry(pool).or_default() += waiting;
    }
    found
}

#[expect(clippy::cast_precision_loss, reason = "no pool has 2^53 slots")]
pub(crate) fn pool_slots(pool: &crate::chores::PoolSlots) {
    let tags = PoolTags { pool: &pool.pool, team_name: pool.team_name.as_deref() };
    let slots = PoolSlots {
        open: pool.open.map_or(f64::INFINITY, |open| open as f64),
        queued: pool.queued,
        running: pool.running,
        deferred: pool.deferred,
        scheduled: pool.scheduled,
    };
    scheduling::pool_slots(tags, slots);
}

/// A try has failed that did not tell so itself.
pub(crate) fn failed(task: TaskTags<'_>, operator: Option<&str>, outcome: Outcome) {
    if matches!(outcome, Outcome::Failed { .. } | Outcome::Retried { .. }) {
        scheduling::failed(task, operator);
    }
}

/// What executors have and take.
pub(crate) fn executors(slots: &[ExecutorSlots]) {
    for ExecutorSlots { executor, .. } in slots {
        let tags = ExecutorTags {
            class: executor.name.class(),
            team_name: executor.name.team.as_deref(),
            is_one_of_several: slots.len() > 1,
        };
        let count = |number: i64| usize::try_from(number).unwrap_or_default();
        // What is handed over runs at once.
        executing::slots(tags, count(executor.slots - executor.occupied), 0, count(executor.occupied));
    }
}

/// What executors had to tell was taken in.
pub(crate) fn events_taken_in(slots: &[ExecutorSlots], took: Duration) {
    let classes: HashSet<&str> = slots.iter().map(|slots| slots.executor.name.class()).collect();
    for class in classes {
        scheduling::executor_heartbeat(class, took);
    }
}

impl ActiveRun {
    /// What its metrics are tagged with.
    pub(crate) fn tags(&self) -> RunTags<'_> {
        RunTags { dag_id: &self.row.dag_id, run_type: self.row.run_type.as_str() }
    }

    /// The run has ended.
    pub(crate) fn measure_end(&self, verdict: RunVerdict) {
        let between =
            |from: Option<Timestamp>, to: Option<Timestamp>| Some(to?.duration_since(from?).as_secs_f64());
        if let Some(duration) = between(self.row.start_date, self.row.end_date) {
            runs::ended(self.tags(), self.row.state == RunState::Success, duration);
        }
        let is_measured = self.row.run_type == RunType::Scheduled
            && self.row.clear_number == 0
            && self.definition.dag().timetable.is_periodic()
            && !matches!(verdict, RunVerdict::TimedOut);
        if !is_measured {
            return;
        }
        let first = self.instances().filter_map(|instance| instance.start_date).min();
        if let Some(delay) = between(Some(self.row.run_after), first).filter(|delay| *delay > 0.0) {
            runs::first_task_scheduled(self.tags(), delay);
        }
        if let Some(delay) = between(self.row.queued_at, first).filter(|delay| *delay > 0.0) {
            runs::first_task_started(self.tags(), delay);
        }
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_telemetry::metrics::{MetricsSettings, Prometheus};

    use super::*;
    use crate::create_runs::Refused;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    /// What Prometheus would read after this.
    fn shown(tell: impl FnOnce()) -> String {
        let prometheus = Prometheus::new(&MetricsSettings::default()).unwrap();
        ::metrics::with_local_recorder(&prometheus, tell);
        prometheus.shown().text()
    }

    fn closed(pool: &str, waiting: usize, refusal: Refusal) -> ClosedPool {
        let head = InstanceKey { dag_id: "d".into(), run_id: "r".into(), task_id: "t".into(), map_index: -1 };
        ClosedPool { pool: pool.into(), head, waiting, refusal }
    }

    fn pass(waiting: usize) -> QueuedTasks {
        let refusal = Refusal::PoolFull { pool: "a".into(), in_use: 1, slots: 1 };
        let closed = closed("a", waiting, refusal);
        QueuedTasks {
            closed_pools: vec![closed].into_iter().filter(|_| waiting > 0).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn a_pool_that_starves_no_more_is_told_once() {
        let mut told = Told::default();
        let text = shown(|| told.passes(&[pass(3)], NOW));
        assert!(text.contains("pool_starving_tasks{pool_name=\"a\"} 3"), "{text}");
        assert!(text.contains("scheduler_tasks_starving 3"), "{text}");
        let text = shown(|| told.passes(&[pass(0)], NOW));
        assert!(text.contains("pool_starving_tasks{pool_name=\"a\"} 0"), "{text}");
        assert!(!shown(|| told.passes(&[pass(0)], NOW)).contains("pool_starving_tasks"));
    }

    #[test]
    fn a_pool_that_is_not_there_is_told_once_and_again_when_it_has_been_there() {
        let missing = closed("p", 1, Refusal::PoolMissing { pool: "p".into() });
        let without = QueuedTasks { closed_pools: vec![missing], ..QueuedTasks::default() };
        let mut told = Told::default();
        assert_eq!(told.log_missing_pools(&without), 1);
        assert_eq!(told.log_missing_pools(&without), 0);
        assert_eq!(told.log_missing_pools(&QueuedTasks::default()), 0);
        assert_eq!(told.log_missing_pools(&without), 1);
    }

    #[test]
    fn while_the_section_is_busy_nothing_is_known_of_pools() {
        let mut told = Told::default();
        let busy = QueuedTasks { is_busy: true, ..QueuedTasks::default() };
        let text = shown(|| told.passes(&[busy], NOW));
        assert!(text.contains("scheduler_critical_section_busy 1"), "{text}");
        assert!(!text.contains("scheduler_tasks_starving"), "{text}");
    }

    #[test]
    fn tasks_that_are_gone_are_told_to_be_none_once() {
        let mut told = Told::default();
        let count = TaskCount {
            state: TaskState::Running,
            dag_id: "d".to_owned(),
            task_id: "t".to_owned(),
            queue: Some("q".to_owned()),
            total: 2,
        };
        let text = shown(|| told.task_counts(std::slice::from_ref(&count)));
        assert!(text.contains("ti_running{queue=\"q\",dag_id=\"d\",task_id=\"t\"} 2"), "{text}");
        let text = shown(|| told.task_counts(&[]));
        assert!(text.contains("ti_running{queue=\"q\",dag_id=\"d\",task_id=\"t\"} 0"), "{text}");
        assert_eq!(shown(|| told.task_counts(&[])), "");
    }

    #[test]
    fn what_is_set_aside_is_counted_and_a_rule_is_no_fault() {
        let refuse = |reason| Refused { dag_id: "d".to_owned(), reason };
        let refused = vec![refuse(NotCreated::Timetable("it raises".to_owned())), refuse(NotCreated::Held)];
        let text = shown(|| created(&CreatedRuns { refused, ..CreatedRuns::default() }));
        assert!(text.contains("ferroflow_scheduler_set_aside{dag_id=\"d\",what=\"timetable\"} 1"), "{text}");
        assert_eq!(text.matches("set_aside{").count(), 1, "{text}");
    }

    #[test]
    fn why_a_dag_gets_no_run_is_remembered_and_a_rule_is_not() {
        let refuse = |reason| Refused { dag_id: "d".to_owned(), reason };
        let refused = vec![refuse(NotCreated::Database("no".to_owned())), refuse(NotCreated::Held)];
        let mut told = Told::default();
        told.log_set_aside(&CreatedRuns { refused, ..CreatedRuns::default() });
        let reasons: Vec<&String> = told.set_aside.values().collect();
        assert_eq!(reasons, ["the database refuses the run: no"]);
    }

    #[test]
    fn why_a_dag_gets_no_run_is_the_same_whenever_it_is_asked_again() {
        let mut told = Told::default();
        let mut causes = Vec::new();
        for when in ["", "; it is asked again at 08:00", "; it is asked again at 08:01"] {
            let reason = NotCreated::Timetable(format!("the timetable t failed: it hangs{when}"));
            let refused = vec![Refused { dag_id: "d".to_owned(), reason }];
            told.log_set_aside(&CreatedRuns { refused, ..CreatedRuns::default() });
            causes.extend(told.set_aside.values().cloned());
        }
        assert_eq!(causes, ["the timetable t failed: it hangs"; 3]);
    }
}
