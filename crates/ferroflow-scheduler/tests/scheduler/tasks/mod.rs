//! Task instances are queued, handed over and heard of, on every database.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

macro_rules! on_every_database {
    ($($test:ident),* $(,)?) => {
        mod sqlite { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Sqlite).await; })* }
        mod postgres { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Postgres).await; })* }
        mod mariadb { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::MariaDb).await; })* }
    };
}

mod dispatched;
mod harvested;
mod limits;
mod lost;
mod passes;
mod place;
mod recorded;
mod swept;
mod turns;
