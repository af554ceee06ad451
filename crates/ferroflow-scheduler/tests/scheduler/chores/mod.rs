//! What a scheduler does from time to time.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod beside_airflow;
mod cases;
mod locked;
mod locked_orphans;
mod lost_callbacks;
mod refused;
mod rows;
mod together;
mod unreadable;
mod world;

/// Instantiates each test for each database.
macro_rules! on_every_database {
    ($($test:ident),* $(,)?) => {
        mod sqlite { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Sqlite).await; })* }
        mod postgres { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Postgres).await; })* }
        mod mariadb { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::MariaDb).await; })* }
    };
}
pub(crate) use on_every_database;
