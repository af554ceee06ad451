//! Many passes of creating runs: nobody waits for ever, whatever the mix.

use ferroflow_model::runs::create::{DagFacts, Verdict, decide};
use ferroflow_model::state::RunType;
use ferroflow_model::timetable::DataInterval;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::runs::given::{at, idle_dag};

const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
const BEGIN: i64 = 1_000_000;
const PASSES: i64 = 120;

/// How a DAG behaves.
#[derive(Clone, Debug)]
struct Habit {
    /// The first time its schedule is due, perhaps years ago, and how far it then moves on.
    schedule: Option<(i64, i64)>,
    /// How many passes after a run its assets are updated again.
    assets: Option<i64>,
    /// How many runs it may have, and how many passes one takes.
    max_active_runs: i32,
    run_length: i64,
    /// Whether its author forbids runs of the schedule, and whether every third run exists already.
    is_forbidden: bool,
    often_exists: bool,
}

fn habit() -> impl Strategy<Value = Habit> {
    let schedule = proptest::option::weighted(0.8, (prop_oneof![Just(0), BEGIN - 5..BEGIN + 5], 1..40_i64));
    let assets = proptest::option::of(0..10_i64);
    (schedule, assets, 1..4_i32, 0..6_i64, prop::bool::weighted(0.1), any::<bool>()).prop_map(
        |(schedule, assets, max_active_runs, run_length, is_forbidden, often_exists)| Habit {
            schedule,
            assets,
            max_active_runs,
            run_length,
            is_forbidden,
            often_exists,
        },
    )
}

/// A DAG as it is after some passes.
struct Living {
    facts: DagFacts<'static>,
    habit: Habit,
    /// When each of its active runs ends.
    ends: Vec<i64>,
    next_update: Option<i64>,
    postponed_in_a_row: usize,
}

impl Living {
    fn new(dag_id: &'static str, habit: Habit) -> Self {
        let mut facts = DagFacts { max_active_runs: Some(habit.max_active_runs), ..idle_dag(dag_id) };
        facts.allowed_run_types = habit.is_forbidden.then_some(&[RunType::AssetTriggered]);
        let next_update = habit.assets.map(|_| BEGIN);
        let mut living = Self { facts, habit, ends: Vec::new(), next_update, postponed_in_a_row: 0 };
        living.set_schedule(living.habit.schedule.map(|(first, _)| first));
        living
    }

    fn set_schedule(&mut self, due: Option<i64>) {
        self.facts.next_dagrun_create_after = due.map(at);
        self.facts.next_dagrun = due.map(at);
        self.facts.next_dagrun_data_interval = due.map(|due| DataInterval::exact(at(due)));
        self.facts.next_dagrun_exists = self.habit.often_exists && due.is_some_and(|due| due % 3 == 0);
    }

    fn advance(&mut self) {
        let due = self.facts.next_dagrun_create_after.map(jiff::Timestamp::as_second);
        self.set_schedule(due.zip(self.habit.schedule).map(|(due, (_, step))| due + step));
    }

    /// Time goes by: runs end, assets are updated.
    fn live(&mut self, now: i64) {
        self.ends.retain(|end| *end > now);
        self.facts.active_runs = u32::try_from(self.ends.len()).unwrap();
        if self.next_update.is_some_and(|update| update <= now) {
            self.facts.assets_triggered_at = Some(at(now));
            self.next_update = None;
        }
    }

    fn apply(&mut self, verdict: &Verdict<'_>, now: i64) {
        self.postponed_in_a_row =
            if *verdict == Verdict::Postponed { self.postponed_in_a_row + 1 } else { 0 };
        match verdict {
            Verdict::Create(run) => {
                self.ends.push(now + self.habit.run_length);
                if run.run_type == RunType::Scheduled {
                    self.facts.last_scheduled_at = Some(at(now));
                    self.advance();
                } else {
                    self.facts.last_asset_triggered_at = Some(at(now));
                    self.facts.assets_triggered_at = None;
                    self.next_update = self.habit.assets.map(|pause| now + pause);
                }
            }
            Verdict::AdvanceOnly => self.advance(),
            Verdict::Refused(_) | Verdict::Postponed => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn every_dag_gets_its_turn(habits in vec(habit(), 1..12), limit in 1..6_usize) {
        let mut dags: Vec<Living> =
            habits.into_iter().zip(NAMES).map(|(habit, name)| Living::new(name, habit)).collect();
        // Each of the others can be first once with each of its kinds, and a kind has half of the places.
        let most = 2 * dags.len() / (limit / 2).max(1) + 1;
        for now in BEGIN..BEGIN + PASSES {
            for dag in &mut dags {
 dag.live(now);
 }
            let facts: Vec<DagFacts<'_>> = dags.iter().map(|dag| dag.facts.clone()).collect();
            for decision in decide(&facts, at(now), limit) {
                let dag = dags.iter_mut().find(|dag| dag.facts.dag_id == decision.dag_id).unwrap();
                dag.apply(&decision.verdict, now);
                prop_assert!(dag.ends.len() <= usize::try_from(dag.habit.max_active_runs).unwrap());
                prop_assert!(dag.postponed_in_a_row <= most, "{} waits for too long", dag.facts.dag_id);
            }
        }
    }

    /// A DAG that has both is served for both, although its schedule is years behind.
    #[test]
    fn neither_kind_of_one_dag_keeps_out_the_other(pause in 0..3_i64, step in 1..5_i64) {
        let habit = Habit {
            schedule: Some((0, step)),
            assets: Some(pause),
            max_active_runs: 1,
            run_length: 1,
            is_forbidden: false,
            often_exists: false,
        };
        let mut dag = Living::new("a", habit);
        let mut kinds = Vec::new();
        for now in BEGIN..BEGIN + PASSES {
            dag.live(now);
            let decision = decide(&[dag.facts.clone()], at(now), 1).remove(0);
            dag.apply(&decision.verdict, now);
            if let Verdict::Create(run) = decision.verdict {
                kinds.push(run.run_type);
            }
        }
        for kind in [RunType::Scheduled, RunType::AssetTriggered] {
            let served = kinds.iter().filter(|served| **served == kind).count();
            prop_assert!(served >= kinds.len() / 5, "{kind}: {served} of {}", kinds.len());
        }
    }
}
