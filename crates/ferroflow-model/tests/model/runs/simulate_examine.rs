//! Many passes of looking at running runs: none is left out for ever.

use ferroflow_model::runs::examine::{Failures, Pace, RunningRun, Verdict, decide};
use jiff::SignedDuration;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::runs::given::{at, running_run};

const BEGIN: i64 = 1_000_000;
const PASSES: i64 = 150;
const PATIENCE: i64 = 5;
const RUN_IDS: [&str; 14] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "A", "B", "C", "D"];

#[derive(Clone, Copy, Debug)]
struct Habit {
    is_backfill: bool,
    /// It changes every so many passes.
    changes_every: i64,
    /// Looking at it always goes wrong.
    fails: bool,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn every_run_gets_its_turn(
        habits in vec((any::<bool>(), changes_every(), prop::bool::weighted(0.2)), 1..14),
        limit in 1..7_usize,
    ) {
        let habits: Vec<Habit> = habits
            .into_iter()
            .map(|(is_backfill, changes_every, fails)| Habit { is_backfill, changes_every, fails })
            .collect();
        let mut runs: Vec<RunningRun<'_>> = habits
            .iter()
            .zip(RUN_IDS)
            .map(|(habit, run_id)| {
                RunningRun { is_backfill: habit.is_backfill, ..running_run("d", run_id, BEGIN) }
            })
            .collect();
        let mut last = vec![BEGIN; runs.len()];
        // Once it has waited for too long, each of the others can be first once.
        let most = PATIENCE + i64::try_from(runs.len()).unwrap() + 1;
        for now in BEGIN..BEGIN + PASSES {
            for (run, habit) in runs.iter_mut().zip(&habits) {
                run.is_dirty |= now % habit.changes_every == 0;
            }
            let pace = Pace { limit, patience: SignedDuration::from_secs(PATIENCE) };
            let decisions = decide(&runs, at(now), pace);
            for (place, run) in runs.iter_mut().enumerate() {
                let decision = decisions.iter().find(|decision| decision.run_id == run.run_id).unwrap();
                match decision.verdict {
                    Verdict::Examine if habits[place].fails => {
                        let count = run.failures.map_or(1, |failures| failures.count + 1);
                        run.failures = Some(Failures { count, last: at(now) });
                        last[place] = now;
                    }
                    Verdict::Examine => {
                        run.last_examined = Some(at(now));
                        run.is_dirty = false;
                        last[place] = now;
                    }
                    Verdict::Postponed => prop_assert!(now - last[place] <= most + back_off(run), "{run:?}"),
                    Verdict::Refused(_) => prop_assert!(run.failures.is_some()),
                }
            }
        }
    }
}

/// Always, sometimes, or never.
fn changes_every() -> impl Strategy<Value = i64> {
    prop_oneof![Just(1), 2..9_i64, Just(BEGIN * 2)]
}

fn back_off(run: &RunningRun<'_>) -> i64 {
    run.failures.map_or(0, |failures| 1 << (failures.count - 1))
}
