//! Several schedulers queue at once what anybody made up: no limit is exceeded at any time, and everybody runs in the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::testing::texts;
use ferroflow_db::{Db, Dialect};
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::Context;
use ferroflow_scheduler::queue_tasks::TaskQueue;
use ferroflow_testkit::Server;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use test_case::test_case;
use uuid::Uuid;

use crate::tasks::place::{NOW, Place, Sketched, local};

const PATIENCE: Duration = Duration::from_mins(3);
const SLOTS: i64 = 5;

#[test_case(Server::Postgres, 3, 1)]
#[test_case(Server::Postgres, 3, 2)]
#[test_case(Server::Postgres, 2, 3)]
#[test_case(Server::MariaDb, 3, 4)]
#[test_case(Server::MariaDb, 2, 5)]
#[test_case(Server::Sqlite, 2, 6)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_hold_and_everybody_runs(server: Server, schedulers: usize, seed: u64) {
    let mut chance = SmallRng::seed_from_u64(seed);
    let made = Arc::new(Made::up(server, &mut chance).await);
    let mut running = tokio::task::JoinSet::new();
    for number in 0..schedulers {
        let made = Arc::clone(&made);
        let mut chance = SmallRng::seed_from_u64(seed * 100 + number as u64);
        running.spawn(async move {
            let cx = made.place.scheduler(i64::try_from(number).unwrap() + 1).await;
            Scheduler { queue: TaskQueue::default(), executing: Vec::new() }
                .run(&made, &cx, &mut chance)
                .await
        });
    }
    let queued = tokio::time::timeout(PATIENCE, running.join_all()).await.expect("everybody runs in the end");
    let starts: usize = queued.iter().sum();
    // Those that wait for a trigger in between are queued twice.
    assert_eq!(starts, made.instances.len() + made.deferring(), "each is queued once: {queued:?}");
}

/// What was made up.
struct Made {
    place: Place,
    instances: Vec<Uuid>,
    pools: BTreeMap<String, (i64, bool)>,
    /// By DAG: how many of a run may be at work, and how many of a task in all runs and in one.
    dags: BTreeMap<String, (i64, [Option<i64>; 2])>,
}

impl Made {
    async fn up(server: Server, chance: &mut SmallRng) -> Self {
        let place = Place::new(server).await;
        let (mut pools, mut dags) = (BTreeMap::new(), BTreeMap::new());
        for number in 0..3 {
            let (slots, include_deferred) = (chance.random_range(2..6), chance.random_bool(0.5));
            place.pool(&format!("pool{number}"), slots, include_deferred).await;
            pools.insert(format!("pool{number}"), (slots.into(), include_deferred));
        }
        let mut sketched = Vec::new();
        for number in 0..3 {
            let dag_id = format!("dag{number}");
            let most = chance.random_range(1..5);
            let limits = [chance.random_bool(0.5), chance.random_bool(0.5)]
                .map(|is_limited| is_limited.then(|| chance.random_range(1..4)));
            let is_limited = limits != [None, None];
            place
                .dag(&dag_id, |dag| {
                    (dag.max_active_tasks, dag.has_task_concurrency_limits) = (most, is_limited);
                })
                .await;
            place.serialize(&dag_id, &[("a", limits[0], limits[1]), ("b", limits[0], limits[1])]).await;
            dags.insert(dag_id.clone(), (most.into(), limits.map(|limit| limit.map(i64::from))));
            for run in 0..2 {
                let run_id = format!("run{run}");
                place.run(&dag_id, &run_id, run + 1).await;
                for (task, index) in
                    ["a", "b"].into_iter().flat_map(|task| (0..5).map(move |index| (task, index)))
                {
                    sketched.push(Sketched::new(&dag_id, &run_id, task).at(index).with(|row| {
                        row.pool = format!("pool{}", chance.random_range(0..3));
                        row.pool_slots = chance.random_range(1..3);
                        row.priority_weight = Some(chance.random_range(1..4));
                    }));
                }
            }
        }
        let instances = place.add(&sketched).await;
        Self { place, instances, pools, dags }
    }

    /// How many wait for a trigger in between.
    fn deferring(&self) -> usize {
        self.instances.iter().filter(|id| defers(**id)).count()
    }

    /// Looks at all that holds anything, in one statement.
    async fn check(&self, db: &Db) {
        let holders = "SELECT CONCAT(dag_id, ' ', run_id, ' ', task_id, ' ', pool, ' ', pool_slots, ' ', state) AS answer \
                       FROM task_instance WHERE state IN ('queued', 'running', 'deferred')";
        let concatenated = "SELECT dag_id || ' ' || run_id || ' ' || task_id || ' ' || pool || ' ' || pool_slots || ' ' || \
                            state AS answer FROM task_instance WHERE state IN ('queued', 'running', 'deferred')";
        let question = if db.dialect() == Dialect::Sqlite { concatenated } else { holders };
        let found = texts(db, question).await.unwrap();
        let mut used: BTreeMap<String, i64> = BTreeMap::new();
        for line in &found {
            let words: Vec<&str> = line.split(' ').collect();
            let [dag, run, task, pool, slots, state] = words[..] else { panic!("{line}") };
            let executes = state != "deferred";
            let mut add = |name: String, number: i64| *used.entry(name).or_default() += number;
            if executes || self.pools[pool].1 {
                add(format!("pool {pool}"), slots.parse().unwrap());
            }
            add(format!("run {dag} {run}"), executes.into());
            add(format!("task {dag} {task}"), 1);
            add(format!("task_in_run {dag} {task} {run}"), 1);
        }
        for (name, number) in used {
            let words: Vec<&str> = name.split(' ').collect();
            let limit = match words[0] {
                "pool" => Some(self.pools[words[1]].0),
                "run" => Some(self.dags[words[1]].0),
                "task" => self.dags[words[1]].1[0],
                _ => self.dags[words[1]].1[1],
            };
            assert!(limit.is_none_or(|limit| number <= limit), "{name}: {number} of {limit:?}\n{found:#?}");
        }
    }

    async fn is_over(&self, db: &Db) -> bool {
        let left = "SELECT state AS answer FROM task_instance WHERE state <> 'success'";
        texts(db, left).await.unwrap().is_empty()
    }
}

/// Whether one waits for a trigger in between.
fn defers(id: Uuid) -> bool {
    id.as_bytes()[15].is_multiple_of(4)
}

struct Scheduler {
    queue: TaskQueue,
    /// What its executor has; whether it has been put off before.
    executing: Vec<(Uuid, bool)>,
}

impl Scheduler {
    /// Goes on until everybody has run; how many it queued.
    async fn run(mut self, made: &Made, cx: &Context, chance: &mut SmallRng) -> usize {
        let mut queued = 0;
        while !made.is_over(&cx.db).await {
            if self.queue.is_empty() || chance.random_bool(0.3) {
                self.queue.sweep(cx, NOW).await.unwrap();
            }
            let mut executors = local(SLOTS);
            executors[0].executor.occupied = i64::try_from(self.executing.len()).unwrap();
            let pass = self.queue.queue(cx, &executors, NOW).await.unwrap();
            assert!(self.executing.len() + pass.queued.len() <= usize::try_from(SLOTS).unwrap());
            queued += pass.queued.len();
            for one in &pass.queued {
                assert!(made.place.set_state(one.row.id, TaskState::Queued, TaskState::Running).await);
                self.executing.push((one.row.id, one.row.next_method.is_some()));
            }
            made.check(&cx.db).await;
            self.end_some(made, chance).await;
        }
        queued
    }

    /// Some succeed or wait for a trigger, and some triggers fire.
    async fn end_some(&mut self, made: &Made, chance: &mut SmallRng) {
        let (ending, going_on) = self.executing.drain(..).partition(|_| chance.random_bool(0.5));
        self.executing = going_on;
        let ending: Vec<(Uuid, bool)> = ending;
        for (id, was_put_off) in ending {
            let is_deferred = defers(id) && !was_put_off;
            let to = if is_deferred { TaskState::Deferred } else { TaskState::Success };
            assert!(made.place.set_state(id, TaskState::Running, to).await);
        }
        if chance.random_bool(0.5) {
            let fired = "UPDATE task_instance SET state = 'scheduled', next_method = 'go_on' WHERE state = 'deferred'";
            made.place.execute(fired).await;
        }
    }
}
