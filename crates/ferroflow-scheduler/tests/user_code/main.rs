//! What users write in Python and a scheduler calls: rows are those of Airflow's own, and bad code harms nobody else.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod bad;
mod deadlines;
mod hanging;
mod listeners;
mod official;
mod partitions;
mod site;

/// Instantiates each test for each database.
macro_rules! on_every_database {
    ($($test:ident),* $(,)?) => {
        mod sqlite { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Sqlite).await; })* }
        mod postgres { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Postgres).await; })* }
        mod mariadb { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::MariaDb).await; })* }
    };
}
pub(crate) use on_every_database;
