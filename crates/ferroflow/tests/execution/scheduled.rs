//! `ferroflow scheduler` in the place of the official one, beside the official API server and DAG processor: what runs
//! leave that schedules, assets and backfills make is what they leave with it.

use std::process::Command;

use ferroflow_testkit::{Server, finish, repository};
use serde_json::Value;

use crate::FERROFLOW;
use crate::differential::assert_same;
use crate::world::python;

#[test]
fn the_scheduler_leaves_what_airflow_s_leaves() {
    let mut command = Command::new(python());
    command.arg(repository("testdata/execution/play.py")).args(["--set", "scheduled", "postgres", FERROFLOW]);
    let printed = finish(&mut command, "").expect_success();
    let mut rows: Value = serde_json::from_str(&printed).expect("play.py prints JSON");
    assert_same(Server::Postgres, "scheduled", rows["scheduled"].take());
}
