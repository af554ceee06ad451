//! Tests that run on each kind of database.

/// Instantiates each test for each database: asynchronous functions that take a [`Server`](crate::Server).
#[macro_export]
macro_rules! on_every_database {
    ($($test:ident),* $(,)?) => {
        mod sqlite { $(#[tokio::test] async fn $test() { super::$test($crate::Server::Sqlite).await; })* }
        mod postgres { $(#[tokio::test] async fn $test() { super::$test($crate::Server::Postgres).await; })* }
        mod mariadb { $(#[tokio::test] async fn $test() { super::$test($crate::Server::MariaDb).await; })* }
    };
}
