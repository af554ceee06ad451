//! Whom the real critical section of Airflow was seen to queue, call after call until nothing more came, and
//! whom we admit in one call.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferroflow_model::admission::{
    Candidate, DEFAULT_PATIENCE, DagLimits, Executor, ExecutorName, Executors, InUse, InstanceKey, Limits,
    Pool, Tick, Waiting, admit,
};
use ferroflow_testkit::replay::read;
use ferroflow_testkit::repository;
use jiff::{Timestamp, ToSpan as _};
use serde::Deserialize;

#[derive(Deserialize)]
struct Recorded {
    scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
struct Scenario {
    pools: Vec<RecordedPool>,
    executors: Vec<RecordedExecutor>,
    dags: Vec<RecordedDag>,
    /// DAG, run, and the day on which it was due.
    runs: Vec<(String, String, i64)>,
    instances: Vec<Instance>,
    /// The place of an instance, and that of its executor.
    queued: Vec<(usize, usize)>,
}

/// DAG, run, task, map index, state.
type Instance = (String, String, String, i32, String);

#[derive(Deserialize)]
struct RecordedPool {
    name: String,
    slots: i32,
    include_deferred: bool,
    team: Option<String>,
}

#[derive(Deserialize)]
struct RecordedExecutor {
    alias: Option<String>,
    module_path: String,
    team: Option<String>,
    slots: i64,
}

#[derive(Deserialize)]
struct RecordedDag {
    dag_id: String,
    max_active_tasks: i32,
    is_paused: bool,
    team: Option<String>,
    tasks: Vec<RecordedTask>,
}

#[derive(Deserialize)]
struct RecordedTask {
    task_id: String,
    priority: i64,
    pool: String,
    pool_slots: i32,
    executor: Option<String>,
    per_dag: Option<i32>,
    per_dagrun: Option<i32>,
}

/// The same are admitted in the same order, except where Airflow does not see everybody: of each run it looks
/// only at so many as `max_active_tasks`, and if these are in the way of another limit, the others are hidden
/// by them. Either they wait for ever, or somebody of lower rank takes their place. There, whoever is the
/// first to be treated differently was admitted by us. What a negative number of slots gives back is lent out
/// at once by Airflow and in the next call by us; there, only the limits are compared.
#[test]
fn whom_airflow_queues_in_the_end_is_admitted_at_once() {
    let scenarios = recorded();
    let (mut the_same, mut queued, mut hidden) = (0, 0, 0);
    for (number, scenario) in scenarios.iter().enumerate() {
        let ours = admitted(scenario);
        scenario.assert_within_limits(number, &ours);
        if ours == scenario.queued {
            the_same += 1;
            queued += ours.len();
            continue;
        }
        if scenario.gives_slots_back() {
            continue;
        }
        let (ours, theirs) = (BTreeSet::from_iter(ours), scenario.queued.iter().copied().collect());
        let different = ours.symmetric_difference(&theirs).min_by_key(|one| scenario.rank(one.0));
        assert!(scenario.hides_some(), "{number}: we admit {ours:?}, Airflow {theirs:?}");
        assert!(different.is_none_or(|one| ours.contains(one)), "{number}: {ours:?} and {theirs:?}");
        hidden += usize::from(different.is_some());
    }
    assert!(the_same > 350 && queued > 1000, "{the_same} were the same, with {queued} queued");
    assert!(hidden > 5, "Airflow was seen to hide some in {hidden}");
}

impl Scenario {
    /// Whether a run has more that wait than Airflow looks at.
    fn hides_some(&self) -> bool {
        self.dags.iter().any(|dag| {
            self.runs.iter().any(|run| {
                let of_run = self.instances.iter().filter(|one| (&one.0, &one.1) == (&run.0, &run.1));
                let waiting = of_run.filter(|one| one.0 == dag.dag_id && one.4 == "scheduled").count();
                i32::try_from(waiting).unwrap() > dag.max_active_tasks
            })
        })
    }

    /// Whether a task has a negative number of slots.
    fn gives_slots_back(&self) -> bool {
        self.dags.iter().flat_map(|dag| &dag.tasks).any(|task| task.pool_slots < 0)
    }

    /// Airflow's order of candidates.
    fn rank(&self, place: usize) -> (Reverse<i64>, i64, i32) {
        let one = &self.instances[place];
        let run = self.runs.iter().find(|run| (&run.0, &run.1) == (&one.0, &one.1)).unwrap();
        (Reverse(self.task(one).1.priority), run.2, one.3)
    }

    fn task(&self, instance: &Instance) -> (&RecordedDag, &RecordedTask) {
        let dag = self.dags.iter().find(|dag| dag.dag_id == instance.0).unwrap();
        (dag, dag.tasks.iter().find(|task| task.task_id == instance.2).unwrap())
    }

    /// Nobody was admitted beyond any limit: all that holds something is counted anew.
    fn assert_within_limits(&self, number: usize, admitted: &[(usize, usize)]) {
        let state = |place: usize| match &*self.instances[place].4 {
            "scheduled" if admitted.iter().any(|one| one.0 == place) => "queued",
            state => state,
        };
        let count =
            |states: &[&str], which: &dyn Fn(&Instance) -> bool, weight: &dyn Fn(&Instance) -> i32| {
                let all = self.instances.iter().enumerate();
                let found = all.filter(|(place, one)| states.contains(&state(*place)) && which(one));
                found.map(|(_, one)| weight(one)).sum::<i32>()
            };
        let executing: &[&str] = &["queued", "running"];
        let active: &[&str] = &["queued", "running", "deferred", "awaiting_input"];
        for (place, executor) in admitted {
            let one = &self.instances[*place];
            let (dag, task) = self.task(one);
            let pool = self.pools.iter().find(|pool| pool.name == task.pool).unwrap();
            let holding = if pool.include_deferred { &active[..3] } else { executing };
            // What a negative number gives back is not lent out, so that it can only make the sum smaller.
            let slots = count(holding, &|other| self.task(other).1.pool == pool.name, &|other| {
                self.task(other).1.pool_slots
            });
            assert!(pool.slots == -1 || slots <= pool.slots, "{number}: {slots} slots of {}", pool.name);
            assert!(pool.team.is_none() || pool.team == dag.team, "{number}: the team of {}", pool.name);
            let of_run = count(executing, &|other| (&other.0, &other.1) == (&one.0, &one.1), &|_| 1);
            assert!(of_run <= dag.max_active_tasks && !dag.is_paused, "{number}: {of_run} of {}", one.1);
            let of_task = count(active, &|other| (&other.0, &other.2) == (&one.0, &one.2), &|_| 1);
            assert!(task.per_dag.is_none_or(|limit| of_task <= limit), "{number}: {of_task} of {}", one.2);
            let here = |other: &Instance| (&other.0, &other.1, &other.2) == (&one.0, &one.1, &one.2);
            let of_task_in_run = count(active, &here, &|_| 1);
            assert!(
                task.per_dagrun.is_none_or(|limit| of_task_in_run <= limit),
                "{number}: {of_task_in_run}"
            );
            let with_executor = admitted.iter().filter(|other| other.1 == *executor).count();
            assert!(i64::try_from(with_executor).unwrap() <= self.executors[*executor].slots, "{number}");
        }
    }
}

fn recorded() -> Vec<Scenario> {
    let text = read(&repository("testdata/admission/admission.json.gz")).unwrap();
    serde_json::from_str::<Recorded>(&text).unwrap().scenarios
}

/// Whom we admit in one call without a budget, before anybody's patience has run out.
fn admitted(scenario: &Scenario) -> Vec<(usize, usize)> {
    let (waiting, in_use) = instances(scenario);
    let tick = Tick { now: Timestamp::UNIX_EPOCH, patience: DEFAULT_PATIENCE, budget: usize::MAX };
    let decision = admit(&waiting, &limits(scenario), &in_use, tick);
    let place = |key: &InstanceKey| {
        let is_it = |one: &Instance| {
            (&*one.0, &*one.1, &*one.2, one.3) == (&*key.dag_id, &*key.run_id, &*key.task_id, key.map_index)
        };
        scenario.instances.iter().position(is_it).unwrap()
    };
    decision.admitted.iter().map(|admitted| (place(&admitted.key), admitted.executor)).collect()
}

fn limits(scenario: &Scenario) -> Limits {
    let team = |team: &Option<String>| team.as_deref().map(Into::into);
    let pool = |pool: &RecordedPool| {
        let found =
            Pool { slots: pool.slots, include_deferred: pool.include_deferred, team: team(&pool.team) };
        (pool.name.as_str().into(), found)
    };
    let dag = |dag: &RecordedDag| {
        let found = DagLimits {
            max_active_tasks: dag.max_active_tasks,
            is_paused: dag.is_paused,
            team: team(&dag.team),
        };
        (dag.dag_id.as_str().into(), found)
    };
    let executor = |executor: &RecordedExecutor| {
        let name = ExecutorName {
            alias: executor.alias.as_deref().map(Into::into),
            module_path: executor.module_path.as_str().into(),
            team: team(&executor.team),
        };
        Executor { name: Arc::new(name), slots: executor.slots, occupied: 0 }
    };
    Limits {
        pools: scenario.pools.iter().map(pool).collect(),
        dags: scenario.dags.iter().map(dag).collect(),
        executors: Executors {
            list: scenario.executors.iter().map(executor).collect(),
            parallelism: i64::MAX,
        },
    }
}

/// Those that wait, and what the others hold.
fn instances(scenario: &Scenario) -> (Waiting, InUse) {
    let (mut waiting, mut in_use) = (Waiting::default(), InUse::default());
    for instance in &scenario.instances {
        let (dag_id, run_id, task_id, map_index, state) = instance;
        let (_, _, day) = scenario.runs.iter().find(|run| (&run.0, &run.1) == (dag_id, run_id)).unwrap();
        let (_, task) = scenario.task(instance);
        let key = InstanceKey {
            dag_id: dag_id.as_str().into(),
            run_id: run_id.as_str().into(),
            task_id: task_id.as_str().into(),
            map_index: *map_index,
        };
        if state != "scheduled" {
            let state = Some(state.parse().unwrap());
            in_use.set(&key, &task.pool.as_str().into(), task.pool_slots, state);
            continue;
        }
        waiting.insert(Candidate {
            key,
            priority_weight: task.priority,
            run_after: Timestamp::UNIX_EPOCH + (24 * day).hours(),
            is_backfill: false,
            waiting_since: Timestamp::UNIX_EPOCH,
            pool: task.pool.as_str().into(),
            pool_slots: task.pool_slots,
            executor: task.executor.as_deref().map(Into::into),
            max_active_tis_per_dag: task.per_dag,
            max_active_tis_per_dagrun: task.per_dagrun,
        });
    }
    (waiting, in_use)
}
