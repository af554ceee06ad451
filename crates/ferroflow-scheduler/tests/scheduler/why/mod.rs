//! Why something does not run: every reason, from rows, on every database.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod dags;
mod instances;
mod place;
mod runs;
use crate::driven::sketch;

/// Instantiates each test for each database.
macro_rules! on_every_database {
    ($($test:ident),* $(,)?) => {
        mod sqlite { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Sqlite).await; })* }
        mod postgres { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Postgres).await; })* }
        mod mariadb { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::MariaDb).await; })* }
    };
}
pub(crate) use on_every_database;
