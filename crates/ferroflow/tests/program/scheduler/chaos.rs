//! A little of what `bench/chaos` does much of: schedulers are killed and stopped, connections cut, the database
//! restarted, and nothing is lost, run twice, exceeded or stuck.

use std::process::Command;

use ferroflow_testkit::{finish, repository};

use crate::scheduler::FERROFLOW;

#[test]
fn what_must_hold_does_on_postgres_whatever_happens() {
    let_happen("postgres", 1, 10);
}

#[test]
fn what_must_hold_does_on_mariadb_whatever_happens() {
    let_happen("mariadb", 2, 6);
}

fn let_happen(database: &str, seed: u32, faults: u32) {
    let mut command = Command::new(repository("bench/chaos"));
    command.args(["--program", FERROFLOW, "--database", database]);
    command.args(["--seed", &seed.to_string(), "--faults", &faults.to_string()]);
    let story = finish(&mut command, "").expect_success();
    assert!(story.contains(&format!("seed {seed} on {database}: all")), "{story}");
}
