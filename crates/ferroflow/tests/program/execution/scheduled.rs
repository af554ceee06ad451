//! `ferroflow scheduler` in the place of the official one, beside the official API server and DAG processor: what runs
//! leave is what they leave with it, whether somebody asks for them or schedules, assets and backfills make them.

use std::process::Command;

use ferroflow_testkit::{finish, repository};
use serde_json::Value;

use crate::execution::FERROFLOW;
use crate::execution::accepted::Play;
use crate::execution::differential::assert_same;
use crate::execution::plan::SETS;
use crate::execution::world::python;

#[test]
fn the_scheduler_leaves_what_airflow_s_leaves() {
    assert_sets_are_same(&["scheduled"]);
}

#[test]
fn runs_that_are_asked_for_leave_what_they_leave_with_airflow_s() {
    assert_sets_are_same(&SETS);
}

/// Plays sets together, and compares each with its recording.
fn assert_sets_are_same(sets: &[&str]) {
    let mut command = Command::new(python());
    command.arg(repository("testdata/execution/play.py"));
    command.args(sets.iter().flat_map(|set| ["--set", set])).args(["postgres", FERROFLOW]);
    let printed = finish(&mut command, "").expect_success();
    let mut rows: Value = serde_json::from_str(&printed).expect("play.py prints JSON");
    for set in sets {
        assert_same(Play::ByScheduler, set, rows[*set].take());
    }
}
