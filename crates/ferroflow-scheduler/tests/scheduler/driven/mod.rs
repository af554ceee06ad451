//! Runs of many shapes, driven to their end on every database, by an executor that only writes states.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

macro_rules! on_every_database {
    ($($test:ident),* $(,)?) => {
        mod sqlite { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Sqlite).await; })* }
        mod postgres { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Postgres).await; })* }
        mod mariadb { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::MariaDb).await; })* }
    };
}

mod fake;
mod place;
mod shapes;
pub(crate) mod sketch;
mod waiting;
mod written;
