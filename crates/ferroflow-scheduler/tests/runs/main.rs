//! Runs that are due are made, and queued runs start: as rows say, beside other schedulers, and beside Airflow's own.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod assets;
mod backfills;
mod clock;
mod concurrency;
mod deadlines;
mod due;
mod executor_events;
mod knobs;
mod obstacles;
mod official;
mod place;
mod refusals;
mod refused;
mod seed;
#[path = "../driven/sketch.rs"]
#[expect(dead_code, reason = "the other tests use the rest of it")]
mod sketch;
mod starting;
mod together;
mod turns;
mod versions;
mod whole;

/// Instantiates each test for each database.
macro_rules! on_every_database {
    ($($test:ident),* $(,)?) => {
        mod sqlite { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Sqlite).await; })* }
        mod postgres { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Postgres).await; })* }
        mod mariadb { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::MariaDb).await; })* }
    };
}
pub(crate) use on_every_database;
