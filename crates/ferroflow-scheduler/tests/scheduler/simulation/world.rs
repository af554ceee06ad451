//! What a seed makes: DAGs, pools, schedulers, and how rough things get.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::fmt::Write as _;

use crate::simulation::chance::Chance;
use crate::simulation::sketch::Sketch;

/// When every simulation begins.
pub(crate) const START: Timestamp = Timestamp::constant(1_704_067_230, 0);

/// The asset that some tasks write and some DAGs wait for.
pub(crate) const ASSET: &str = "asset";

/// What a seed makes.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) dags: Vec<PlannedDag>,
    pub(crate) pools: Vec<PlannedPool>,
    pub(crate) schedulers: usize,
    /// How many task instances the executor of each scheduler takes.
    pub(crate) slots: usize,
    /// For so long there are schedules, people and accidents.
    pub(crate) busy: SignedDuration,
    /// How often people do something.
    pub(crate) acts: usize,
    /// How often schedulers are killed or stopped.
    pub(crate) accidents: usize,
    /// In how many of a hundred tries something other than a success comes out.
    pub(crate) roughness: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct PlannedPool {
    pub(crate) name: String,
    pub(crate) slots: i32,
    pub(crate) include_deferred: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct PlannedDag {
    pub(crate) dag_id: String,
    pub(crate) tasks: Vec<PlannedTask>,
    pub(crate) schedule: Schedule,
    pub(crate) catchup: bool,
    pub(crate) fail_fast: bool,
    pub(crate) timeout: Option<i64>,
    pub(crate) max_active_runs: i32,
    pub(crate) max_active_tasks: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    None,
    /// Every minute, for that minute.
    Cron,
    /// Every so many seconds.
    Delta(i64),
    /// Whenever the asset changes.
    Asset,
}

#[derive(Clone, Debug)]
pub(crate) struct PlannedTask {
    pub(crate) id: String,
    pub(crate) upstream: Vec<String>,
    pub(crate) rule: &'static str,
    pub(crate) kind: Kind,
    pub(crate) retries: i64,
    pub(crate) pool: usize,
    pub(crate) pool_slots: i64,
    pub(crate) per_dag: Option<i64>,
    pub(crate) per_run: Option<i64>,
    pub(crate) depends_on_past: bool,
    pub(crate) writes_asset: bool,
    /// Whether it may be put off: for a while, or until a trigger fires.
    pub(crate) is_sensor: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// Nothing to run.
    Empty,
    /// Chooses which of the tasks behind it go on.
    Branch,
    /// Pushes a list that another one is mapped over.
    Pusher,
    Mapped(usize),
    MappedOver(String),
}

impl World {
    pub(crate) fn of(seed: u64) -> Self {
        let chance = &mut Chance::new(seed);
        let pools: Vec<PlannedPool> = (0..chance.between(1, 2))
            .map(|number| PlannedPool {
                name: format!("pool_{number}"),
                slots: i32::try_from(chance.between(1, 4)).unwrap(),
                include_deferred: chance.percent(30),
            })
            .collect();
        let number = chance.weighted(&[(5, 1), (4, 2), (1, 3)]);
        let dags = (0..number).map(|number| dag(chance, number, pools.len())).collect();
        Self {
            dags,
            pools,
            schedulers: chance.weighted(&[(30, 1), (45, 2), (25, 3)]),
            slots: chance.weighted(&[(1, 1), (2, 3), (2, 8)]),
            busy: SignedDuration::from_secs(chance.between(30, 90)),
            acts: chance.below(7),
            accidents: chance.below(4),
            roughness: chance.weighted(&[(1, 0), (3, 20), (2, 50)]),
        }
    }

    /// The planned task behind a row.
    pub(crate) fn task(&self, dag_id: &str, task_id: &str) -> Option<&PlannedTask> {
        self.dag(dag_id)?.tasks.iter().find(|task| task.id == task_id)
    }

    pub(crate) fn dag(&self, dag_id: &str) -> Option<&PlannedDag> {
        self.dags.iter().find(|dag| dag.dag_id == dag_id)
    }
}

fn dag(chance: &mut Chance, number: i64, pools: usize) -> PlannedDag {
    let mut tasks: Vec<PlannedTask> = Vec::new();
    for number in 0..chance.between(1, 4) {
        let next = task(chance, number, &mut tasks, pools);
        tasks.push(next);
    }
    let schedule = match number {
        0 => chance.weighted(&[
            (2, Schedule::None),
            (4, Schedule::Cron),
            (2, Schedule::Delta(45)),
            (1, Schedule::Asset),
        ]),
        _ => chance.weighted(&[
            (2, Schedule::None),
            (2, Schedule::Cron),
            (1, Schedule::Delta(70)),
            (3, Schedule::Asset),
        ]),
    };
    if schedule == Schedule::Asset {
        // It would wake itself up for ever.
        for task in &mut tasks {
            task.writes_asset = false;
        }
    }
    PlannedDag {
        dag_id: format!("dag_{number}"),
        tasks,
        schedule,
        catchup: chance.percent(60),
        fail_fast: chance.percent(8),
        timeout: chance.percent(8).then(|| chance.between(20, 90)),
        max_active_runs: i32::try_from(chance.between(1, 3)).unwrap(),
        max_active_tasks: chance.weighted(&[(1, 1), (2, 2), (3, 16)]),
    }
}

fn task(chance: &mut Chance, number: i64, before: &mut [PlannedTask], pools: usize) -> PlannedTask {
    let upstream: Vec<usize> = (0..before.len()).filter(|_| chance.percent(45)).collect();
    let mut kind = match chance.below(100) {
        0..10 => Kind::Empty,
        10..20 => Kind::Branch,
        20..30 => Kind::Mapped(chance.below(4)),
        30..42 => Kind::MappedOver(String::new()),
        _ => Kind::Plain,
    };
    if matches!(kind, Kind::MappedOver(_)) {
        let plain = upstream
            .iter()
            .copied()
            .find(|place| matches!(before[*place].kind, Kind::Plain | Kind::Pusher | Kind::Mapped(_)));
        kind = match plain {
            Some(place) => {
                if before[place].kind == Kind::Plain {
                    before[place].kind = Kind::Pusher;
                }
                Kind::MappedOver(before[place].id.clone())
            }
            None => Kind::Plain,
        };
    }
    let is_mapped = matches!(kind, Kind::Mapped(_) | Kind::MappedOver(_));
    let rule = if upstream.is_empty() {
        "all_success"
    } else {
        chance.weighted(&[
            (10, "all_success"),
            (2, "all_done"),
            (1, "one_success"),
            (2, "none_failed"),
            (1, "none_failed_min_one_success"),
            (1, "one_failed"),
            (1, "all_failed"),
            (1, "one_done"),
            (1, "always"),
        ])
    };
    // A rule that asks for the copies of a task one by one is refused where a task is mapped over it.
    let rule = if matches!(kind, Kind::MappedOver(_)) { "all_success" } else { rule };
    PlannedTask {
        id: format!("t{number}"),
        upstream: upstream.into_iter().map(|place| before[place].id.clone()).collect(),
        rule,
        is_sensor: kind == Kind::Plain && chance.percent(20),
        kind,
        retries: chance.weighted(&[(3, 0), (2, 1), (1, 2)]),
        pool: chance.below(pools),
        pool_slots: chance.weighted(&[(5, 1), (1, 2)]),
        per_dag: chance.percent(10).then_some(1),
        per_run: (is_mapped && chance.percent(30)).then_some(1),
        depends_on_past: chance.percent(8),
        writes_asset: chance.percent(12),
    }
}

impl PlannedDag {
    /// The document, with a task more or without one in another version.
    pub(crate) fn sketch(&self, version: usize, pools: &[PlannedPool], busy: SignedDuration) -> Sketch {
        let mut words = String::new();
        for task in &self.tasks {
            write!(words, "{} : {} < {}; ", task.id, task.rule, task.upstream.join(", ")).unwrap();
        }
        if version % 2 == 1 {
            write!(words, "extra < {}", self.tasks[0].id).unwrap();
        }
        let mut sketch = Sketch::of(&words);
        for task in &self.tasks {
            sketch = task.in_sketch(sketch, &pools[task.pool].name);
        }
        let start = START.as_second() - 100;
        sketch = sketch
            .setting("timetable", self.timetable())
            .setting("start_date", json!(start))
            .setting("end_date", json!(START.as_second() + busy.as_secs()))
            .setting("catchup", json!(self.catchup))
            .setting("doc_md", json!(format!("version {version}")));
        if self.fail_fast {
            sketch = sketch.setting("fail_fast", json!(true));
        }
        if let Some(seconds) = self.timeout {
            sketch = sketch.setting("dagrun_timeout", json!(seconds));
        }
        sketch
    }

    fn timetable(&self) -> Value {
        let (class, fields) = match self.schedule {
            Schedule::None => ("simple.NullTimetable", json!({})),
            Schedule::Cron => {
                ("interval.CronDataIntervalTimetable", json!({"expression": "* * * * *", "timezone": "UTC"}))
            }
            Schedule::Delta(seconds) => ("interval.DeltaDataIntervalTimetable", json!({"delta": seconds})),
            Schedule::Asset => {
                let asset =
                    json!({"__type": "asset", "name": ASSET, "uri": ASSET, "group": "asset", "extra": {}});
                ("simple.AssetTriggeredTimetable", json!({"asset_condition": asset}))
            }
        };
        json!({"__type": format!("airflow.timetables.{class}"), "__var": fields})
    }
}

impl PlannedTask {
    fn in_sketch(&self, sketch: Sketch, pool: &str) -> Sketch {
        let id = &self.id;
        let mut sketch = sketch
            .with(id, "retries", json!(self.retries))
            .with(id, "retry_delay", json!(5))
            .with(id, "pool", json!(pool))
            .with(id, "pool_slots", json!(self.pool_slots));
        if let Some(most) = self.per_dag {
            sketch = sketch.with(id, "max_active_tis_per_dag", json!(most));
        }
        if let Some(most) = self.per_run {
            sketch = sketch.with(id, "max_active_tis_per_dagrun", json!(most));
        }
        if self.depends_on_past {
            sketch = sketch.with(id, "depends_on_past", json!(true));
        }
        if self.is_sensor {
            sketch = sketch.with(id, "_is_sensor", json!(true)).with(id, "reschedule", json!(true));
        }
        match &self.kind {
            Kind::Plain | Kind::Pusher => sketch,
            Kind::Empty => sketch.with(id, "_is_empty", json!(true)),
            Kind::Branch => sketch.with(id, "_can_skip_downstream", json!(true)),
            Kind::Mapped(length) => sketch.mapped(id, *length),
            Kind::MappedOver(other) => sketch.mapped_over(id, other),
        }
    }
}
