//! Whole worlds, each made from a seed and lived through on a clock of its own: DAGs of random shape, tasks that do
//! random things, people who do others, and one to three schedulers that are killed, stopped and started anew between
//! any two steps. After every step the rows are read, and what must hold is checked.
//!
//! 300 seeds are tried, of which `./test` has each commit try others: `FERROFLOW_SIMULATION_FROM` is the first.
//! `FERROFLOW_SIMULATION_SEEDS=50000` tries so many, and `FERROFLOW_SIMULATION_SEED=7` that one alone, and prints all
//! that happens: the same as before, to the last word.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod acts;
mod broken;
mod chance;
mod checks;
mod endings;
mod place;
mod processes;
mod progress;
mod schedulers;
use crate::driven::sketch;
mod snapshot;
pub(crate) mod workers;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use broken::Broken;
use schedulers::{Told, simulate};

/// So long a world may take, on a machine that is busy with many others.
const MAX_LIFE: Duration = Duration::from_mins(10);

/// Into how many parts the seeds are divided, to be tried side by side.
const SHARDS: u64 = 4;

#[test]
fn seeds_of_the_first_quarter_hold() {
    try_shard(0);
}

#[test]
fn seeds_of_the_second_quarter_hold() {
    try_shard(1);
}

#[test]
fn seeds_of_the_third_quarter_hold() {
    try_shard(2);
}

#[test]
fn seeds_of_the_last_quarter_hold() {
    try_shard(3);
}

/// A run that was deleted while a scheduler looked after it; one that waits for a run which was deleted, or which may not
/// start before it has ended; one that ends well after a failure, since `fail_fast` has skipped what comes after it.
#[test]
fn seeds_that_have_failed_once_hold() {
    for seed in [118, 473, 540, 544, 720, 1592] {
        assert_eq!(run(seed).violation, None, "seed {seed}");
    }
}

#[test]
fn the_same_seed_tells_the_same_story() {
    for seed in [3, 14, 159, 2653] {
        let (first, second) = (run(seed), run(seed));
        let differing = first.trace.iter().zip(&second.trace).position(|(first, second)| first != second);
        let lines = |told: &Told| differing.map(|line| told.trace[line].clone());
        assert_eq!(lines(&first), lines(&second), "seed {seed}");
        assert_eq!(first.trace.len(), second.trace.len(), "seed {seed}");
        assert!(!first.trace.is_empty());
    }
}

#[expect(clippy::print_stderr, reason = "the story of a seed is what was asked for")]
fn try_shard(shard: u64) {
    if let Some(seed) = asked("FERROFLOW_SIMULATION_SEED") {
        if seed % SHARDS == shard {
            let told = run(seed);
            eprintln!("{:#?}\n{}", world::World::of(seed), told.trace.join("\n"));
            assert_eq!(told.violation, None, "seed {seed}");
        }
        return;
    }
    let mut failed = Vec::new();
    let first = asked("FERROFLOW_SIMULATION_FROM").unwrap_or(0);
    let seeds = asked("FERROFLOW_SIMULATION_SEEDS").unwrap_or(300);
    for seed in (first..first + seeds).filter(|seed| seed % SHARDS == shard) {
        let told = run(seed);
        if let Some(violation) = told.violation {
            eprintln!("seed {seed}: {violation}\n{}", last(&told.trace));
            failed.push(seed);
        }
    }
    assert!(
        failed.is_empty(),
        "seeds {failed:?} fail; all of one is told by: FERROFLOW_SIMULATION_SEED={} ./test -- cargo test --workspace \
         --test scheduler simulation:: -- --nocapture",
        failed[0]
    );
}

/// What happened just before.
fn last(trace: &[String]) -> String {
    trace[trace.len().saturating_sub(12)..].join("\n")
}

fn run(seed: u64) -> Told {
    run_with(seed, None)
}

fn run_with(seed: u64, broken: Option<Broken>) -> Told {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // A world in which something goes on without end is a violation too.
    let live = async { tokio::time::timeout(MAX_LIFE, simulate(seed, broken)).await };
    let lived = catch_unwind(AssertUnwindSafe(|| runtime.block_on(live)));
    let lived = lived.map(|lived| {
        let violation = Some(format!("it did not end within {MAX_LIFE:?}"));
        lived.unwrap_or(Told { trace: Vec::new(), violation })
    });
    lived.unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
        Told { trace: Vec::new(), violation: Some(format!("a panic: {}", words.unwrap_or_default())) }
    })
}

#[expect(clippy::disallowed_methods, reason = "how much is tried is said to the tests, not in airflow.cfg")]
fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}
