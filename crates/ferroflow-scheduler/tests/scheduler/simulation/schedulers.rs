//! A world from its beginning to its end: whatever happens next happens, and then it is checked what must hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferroflow_component::{JobType, job_row};
use ferroflow_execution::Host;
use ferroflow_executor::{ExecutorSet, NamedExecutor, executor_events};
use ferroflow_model::admission::ExecutorName;
use ferroflow_operations::dag_run::RunMaking;
use ferroflow_scheduler::LogPaths;
use ferroflow_scheduler::active_runs::Obstacle;
use ferroflow_scheduler::cycle::{CycleReport, Step};
use ferroflow_scheduler::executors::Executors;
use ferroflow_scheduler::scheduler::{Parts, Scheduler};
use ferroflow_telemetry::clock;
use jiff::{SignedDuration, Timestamp};

use crate::simulation::broken::Broken;
use crate::simulation::chance::Chance;
use crate::simulation::checks::{Checked, Doer, difference, one_live_attempt};
use crate::simulation::place::{Place, THRESHOLD, settings};
use crate::simulation::progress::Progress;
use crate::simulation::snapshot::{InstanceKey, Snapshot};
use crate::simulation::workers::{Hands, Shared, locked};
use crate::simulation::world::{START, World};

/// For so long things may go on after everybody has come to rest.
const PATIENCE: SignedDuration = SignedDuration::from_mins(30);

/// So long after the last accident all must be known that is to be done.
const SETTLING: SignedDuration = SignedDuration::from_secs(60);

/// A scheduler shows that it lives, and so do its tasks, every so often.
const BEAT: SignedDuration = SignedDuration::from_secs(8);

/// What a simulation did, and whether it went wrong.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) trace: Vec<String>,
    pub(crate) violation: Option<String>,
}

/// What can happen.
#[derive(Clone, Debug)]
pub(crate) enum Happens {
    /// A scheduler does its next step.
    Step(usize),
    /// A scheduler shows that it lives.
    Beat(usize),
    /// A process does something.
    Process(i32),
    /// A trigger fires.
    Fire(InstanceKey),
    /// A person does something.
    Act,
    /// A scheduler is killed or stopped.
    Accident,
}

/// A scheduler and where it stands in its cycle.
pub(crate) struct Actor {
    pub(crate) host: String,
    pub(crate) job_id: i64,
    /// None if it was killed.
    pub(crate) scheduler: Option<Scheduler>,
    next: Option<Step>,
    report: CycleReport,
    /// When its cycle began: for all its steps, this is the time.
    cycle: Timestamp,
    /// Since when it stands still, and until when.
    pub(crate) stopped: Option<(Timestamp, Timestamp)>,
    wakes: (Timestamp, u64),
}

pub(crate) struct Simulation {
    pub(crate) world: World,
    pub(crate) place: Place,
    pub(crate) chance: Chance,
    pub(crate) now: Timestamp,
    pub(crate) field: Shared,
    pub(crate) seen: Snapshot,
    pub(crate) schedulers: Vec<Actor>,
    pub(crate) making: RunMaking,
    /// How often each DAG was stored anew.
    pub(crate) versions: BTreeMap<String, usize>,
    /// The runs that people have changed by hand, so that nothing follows from the states in them.
    pub(crate) touched: BTreeSet<i64>,
    pub(crate) is_calm: bool,
    pub(crate) progress: Progress,
    /// What is broken on purpose.
    pub(crate) broken: Option<Broken>,
    /// What the database was marked with when it was last looked at.
    mark: Vec<u8>,
    queue: BTreeMap<(Timestamp, u64), Happens>,
    sequence: u64,
    trace: Vec<String>,
}

/// Lives through the world of a seed.
pub(crate) async fn simulate(seed: u64, broken: Option<Broken>) -> Told {
    let mut simulation = Simulation::new(World::of(seed), seed, broken).await;
    let outcome = simulation.live().await;
    clock::pretend(None);
    simulation.place.db.close().await;
    Told { trace: simulation.trace, violation: outcome.err() }
}

impl Simulation {
    async fn new(world: World, seed: u64, broken: Option<Broken>) -> Self {
        clock::pretend(Some(START));
        let place = Place::new(&world).await;
        let making = RunMaking::new(&settings(), "somebody".to_owned(), None).unwrap();
        let mut simulation = Self {
            place,
            chance: Chance::new(seed ^ 0xabcd_ef01),
            now: START,
            field: Shared::default(),
            seen: Snapshot::default(),
            schedulers: Vec::new(),
            making,
            versions: BTreeMap::new(),
            touched: BTreeSet::new(),
            is_calm: false,
            progress: Progress::default(),
            broken,
            mark: Vec::new(),
            queue: BTreeMap::new(),
            sequence: 0,
            trace: Vec::new(),
            world,
        };
        simulation.seen = Snapshot::take(&simulation.place.db).await;
        for _ in 0..simulation.world.schedulers {
            simulation.start_scheduler().await;
        }
        let busy = simulation.world.busy.as_secs() * 1000;
        for (number, what) in
            [(simulation.world.acts, Happens::Act), (simulation.world.accidents, Happens::Accident)]
        {
            for _ in 0..number {
                let wait = simulation.chance.millis(1, busy);
                simulation.after(wait, what.clone());
            }
        }
        simulation
    }

    /// Until all is done, or something does not hold.
    async fn live(&mut self) -> Result<(), String> {
        let calm_at = START + self.world.busy;
        while let Some(((at, _), happens)) = self.queue.pop_first() {
            self.now = at.max(self.now + SignedDuration::from_micros(1));
            clock::pretend(Some(self.now));
            let done = self.happen(happens).await?;
            self.stir();
            if let Some((doer, what)) = done {
                self.check(doer, &what).await?;
            }
            if !self.is_calm && self.now >= calm_at {
                self.calm_down().await;
                self.check(Doer::Person, "all is made well").await?;
            }
            if self.is_calm && self.now >= calm_at + SETTLING && self.is_over() {
                return self.last_look();
            }
            if self.now > calm_at + PATIENCE {
                return Err(format!("I6: there is no end: {}", self.unfinished()));
            }
        }
        Err("I6: nothing happens any more".to_owned())
    }

    /// One thing happens. Answers who did it, and what, if it may have changed anything.
    async fn happen(&mut self, happens: Happens) -> Result<Option<(Doer, String)>, String> {
        match happens {
            Happens::Step(number) => self.step(number).await,
            Happens::Beat(number) => Ok(self.beat(number).await),
            Happens::Process(pid) => Ok(self.go_on(pid).await),
            Happens::Fire(key) => Ok(self.fire(&key).await),
            Happens::Act => Ok(Some((Doer::Person, self.act().await))),
            Happens::Accident => {
                self.have_accident().await;
                Ok(None)
            }
        }
    }

    /// Something happens later.
    pub(crate) fn after(&mut self, wait: SignedDuration, happens: Happens) -> (Timestamp, u64) {
        self.sequence += 1;
        let key = (self.now + wait, self.sequence);
        self.queue.insert(key, happens);
        key
    }

    /// Processes that have something to do do it soon, and a scheduler that waits hears of its executor.
    fn stir(&mut self) {
        let stirred = std::mem::take(&mut locked(&self.field).stirred);
        for pid in stirred {
            let wait = self.chance.millis(1, 900);
            self.after(wait, Happens::Process(pid));
        }
        for number in 0..self.schedulers.len() {
            let actor = &self.schedulers[number];
            let is_told = actor.next.is_none() && locked(&self.field).has_news(number);
            if is_told && actor.wakes.0 > self.now + SignedDuration::from_millis(20) {
                let wakes = self.schedulers[number].wakes;
                if self.queue.remove(&wakes).is_some() {
                    let wait = self.chance.millis(1, 10);
                    self.schedulers[number].wakes = self.after(wait, Happens::Step(number));
                }
            }
        }
    }

    /// A scheduler does its next step.
    async fn step(&mut self, number: usize) -> Result<Option<(Doer, String)>, String> {
        if self.wait_while_stopped(number, &Happens::Step(number)) {
            return Ok(None);
        }
        let now = self.now;
        let actor = &mut self.schedulers[number];
        let Some(scheduler) = actor.scheduler.as_mut() else { return Ok(None) };
        let step = actor.next.unwrap_or(Step::ExecutorEvents);
        if step == Step::ExecutorEvents {
            (actor.report, actor.cycle) = (CycleReport::default(), now);
            locked(&self.field).takes_in(number);
        }
        let next = scheduler.step(step, &mut actor.report, actor.cycle).await;
        actor.next = next.map_err(|error| format!("{step:?} of scheduler {number} has failed: {error}"))?;
        let pause = SignedDuration::try_from(scheduler.pause(actor.cycle)).unwrap();
        let mut put_off = actor.report.examined.put_off.iter();
        if let Some((run, reason)) = put_off.find(|(_, what)| matches!(what, Obstacle::Unreadable(_))) {
            return Err(format!("{run} is set aside: {reason}"));
        }
        let wait = match actor.next {
            Some(_) => self.chance.millis(0, 60),
            None if pause.is_zero() => self.chance.millis(1, 50),
            // A machine that is busy with other things wakes up late.
            None => {
                let (least, most) = self.chance.weighted(&[(3, (1, 2_000)), (7, (4_000, 25_000))]);
                pause + self.chance.millis(least, most)
            }
        };
        self.schedulers[number].wakes = self.after(wait, Happens::Step(number));
        self.break_something(step).await;
        let doer = match step {
            Step::ExecutorEvents | Step::HandOver | Step::Chores => Doer::Watch,
            Step::Rescan | Step::CreateRuns | Step::StartRuns => Doer::Runs,
            Step::ExamineRuns => Doer::Examination,
            Step::QueueTasks => Doer::Queueing,
        };
        Ok(Some((doer, format!("scheduler {number} {step:?}"))))
    }

    /// Whether a scheduler stands still; then this happens when it goes on.
    pub(crate) fn wait_while_stopped(&mut self, number: usize, happens: &Happens) -> bool {
        let Some((_, until)) = self.schedulers[number].stopped else { return false };
        if until <= self.now {
            self.schedulers[number].stopped = None;
            return false;
        }
        let wait = until.duration_since(self.now) + self.chance.millis(1, 30);
        let key = self.after(wait, happens.clone());
        if matches!(happens, Happens::Step(_)) {
            self.schedulers[number].wakes = key;
        }
        true
    }

    /// A scheduler shows that it lives, and that its tasks do.
    async fn beat(&mut self, number: usize) -> Option<(Doer, String)> {
        if self.wait_while_stopped(number, &Happens::Beat(number)) {
            return None;
        }
        self.schedulers[number].scheduler.as_ref()?;
        let job_id = self.schedulers[number].job_id;
        assert!(
            job_row::beat(&self.place.db, JobType::Scheduler, job_id, self.now).await.unwrap(),
            "its row is there"
        );
        self.beat_for_processes(number).await;
        self.after(BEAT, Happens::Beat(number));
        None
    }

    pub(crate) async fn start_scheduler(&mut self) {
        let number = self.schedulers.len();
        let host = if self.chance.percent(40) { "host".to_owned() } else { format!("host-{number}") };
        let named = Host { name: host.clone(), user: "somebody".to_owned() };
        let job_id = job_row::start(&self.place.db, JobType::Scheduler, &named, self.now).await.unwrap();
        let slots = self.world.slots;
        let trusted = SignedDuration::from_secs(self.chance.weighted(&[(1, 0), (1, 20)]));
        let name = ExecutorName { alias: None, module_path: "simulation.Hands".into(), team: None };
        let (sender, events) = executor_events();
        let executor = NamedExecutor::new(name, &sender, |events| {
            Arc::new(Hands::new(number, slots, &host, &self.field, events))
        });
        let parts = Parts {
            cx: self.place.context(job_id, trusted),
            paths: LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap(),
            executors: Executors::new(ExecutorSet::new([executor]), events),
            width: 1,
        };
        let wait = self.chance.millis(1, 500);
        let wakes = self.after(wait, Happens::Step(number));
        self.after(BEAT, Happens::Beat(number));
        self.schedulers.push(Actor {
            host,
            job_id,
            scheduler: Some(Scheduler::new(parts, self.now)),
            next: None,
            report: CycleReport::default(),
            cycle: self.now,
            stopped: None,
            wakes,
        });
        self.note(&format!("scheduler {number} starts"));
    }

    /// Looks at everything, and whether it holds.
    async fn check(&mut self, doer: Doer, what: &str) -> Result<(), String> {
        let mark = self.place.mark();
        self.cut_off();
        if let Some(stalled) = self.stalled() {
            return Err(stalled);
        }
        if std::mem::replace(&mut self.mark, mark) == self.mark {
            return one_live_attempt(&locked(&self.field).processes).map_or(Ok(()), Err);
        }
        let after = Snapshot::take(&self.place.db).await;
        let changes = difference(&self.seen, &after);
        if !changes.is_empty() || doer == Doer::Person {
            self.note(&format!("{what}:{changes}"));
        }
        let before = std::mem::replace(&mut self.seen, after);
        let field = locked(&self.field);
        let checked = Checked {
            world: &self.world,
            before: &before,
            after: &self.seen,
            processes: &field.processes,
            doer,
        };
        checked.violation().map_or(Ok(()), Err)
    }

    /// Processes of schedulers that stand still for longer than others wait are on their own.
    fn cut_off(&mut self) {
        let mut field = locked(&self.field);
        for process in field.processes.values_mut() {
            let stopped = self.schedulers[process.owner].stopped;
            process.is_cut_off |=
                stopped.is_some_and(|(since, _)| self.now.duration_since(since) > THRESHOLD);
        }
    }

    pub(crate) fn note(&mut self, what: &str) {
        let seconds = self.now.duration_since(START).as_secs_f64();
        self.trace.push(format!("{seconds:9.3} {what}"));
    }
}
