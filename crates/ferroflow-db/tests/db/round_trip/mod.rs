//! Every table that ferroflow has operations for, both ways: what it writes Airflow's own ORM finds equal, and
//! what that writes ferroflow finds equal, on each database.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod airflow_writes;
mod cases;
mod expected;
mod ferroflow_writes;
mod row;

use ferroflow_testkit::{Airflow, Server, TestDb};
use serde_json::Value;

/// The first of the configured keys, which encrypts.
const NEW_KEY: &str = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=";
/// The second, which only decrypts.
const OLD_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

#[tokio::test]
async fn round_trip_on_sqlite() {
    round_trip(Server::Sqlite).await;
}

#[tokio::test]
async fn round_trip_on_postgres() {
    round_trip(Server::Postgres).await;
}

#[tokio::test]
async fn round_trip_on_mariadb() {
    round_trip(Server::MariaDb).await;
}

async fn round_trip(server: Server) {
    let test_db = TestDb::migrated(server).await;
    let db = test_db.connect().await;
    let keys = format!("{NEW_KEY},{OLD_KEY}");
    let airflow = Airflow::on(&test_db.url()).with("AIRFLOW__CORE__FERNET_KEY", &keys);

    let opaque = airflow_writes::airflow_writes(&airflow, &db).await;
    ferroflow_writes::ferroflow_writes(&airflow, &db, opaque).await;
}

/// What `orm.py` answers: the last line, after what Airflow logs.
fn orm(airflow: &Airflow, mode: &str, input: &str) -> Value {
    let answer = airflow.python("testdata/round_trip/orm.py", &[mode], input).expect_success();
    serde_json::from_str(answer.lines().last().expect("it answers")).expect("it answers JSON")
}
