//! Runs, and what they are given.

use ferroflow_db::dag_run::lookup::QueuedRun;
use ferroflow_db::{Json, ScopedFutureExt as _, dag_run};
use ferroflow_model::state::RunState;
use ferroflow_testkit::rows::{a_run, add_dag, add_run};
use ferroflow_testkit::{Server, TestDb};
use jiff::ToSpan as _;

use crate::conformance::NOW;

ferroflow_testkit::on_every_database!(numbers_are_exact, those_that_wait_are_listed_by_date);

/// JSON that is nothing but a number, which a column of SQLite takes for one.
async fn numbers_are_exact(server: Server) {
    const NUMBERS: [&str; 8] = [
        "0.3333333333333333",
        "1e-300",
        "110.00000000000001",
        "-1.5",
        "5e-324",
        "1.7976931348623157e308",
        "9223372036854775807",
        "-9223372036854775808",
    ];
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let read = db.transact(|tx| {
        async move {
            add_dag(tx, "dag").await?;
            let mut read = Vec::new();
            for (run_id, number) in ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().zip(NUMBERS) {
                let date = NOW + i64::from(run_id.as_bytes()[0]).seconds();
                let mut run = a_run("dag", run_id, date);
                run.conf = Json::from_text(number.to_owned()).unwrap();
                dag_run::insert(tx, &run, NOW).await?;
                let conf = dag_run::find(tx, "dag", run_id).await?.unwrap().conf.unwrap();
                read.push(conf.value().unwrap());
            }
            Ok(read)
        }
        .scope_boxed()
    });
    let given = NUMBERS.map(|number| serde_json::from_str::<serde_json::Value>(number).unwrap());
    for (read, given) in read.await.unwrap().iter().zip(&given) {
        assert!(read.as_i64() == given.as_i64() && read.as_f64() == given.as_f64(), "{given} is {read}");
    }
}

async fn those_that_wait_are_listed_by_date(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let (listed, expected) = db
        .transact(|tx| {
            async move {
                add_dag(tx, "dag").await?;
                let later = add_run(tx, "dag", "later", NOW + 1.second()).await?;
                let sooner = add_run(tx, "dag", "sooner", NOW).await?;
                let running = add_run(tx, "dag", "running", NOW - 1.second()).await?;
                dag_run::set_state(tx, running, RunState::Queued, RunState::Running, NOW).await?;
                Ok((dag_run::lookup::queued(tx).await?, [(sooner, "sooner"), (later, "later")]))
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    let expected =
        expected.map(|(id, run_id)| QueuedRun { id, dag_id: "dag".to_owned(), run_id: run_id.to_owned() });
    assert_eq!(listed, expected);
}
