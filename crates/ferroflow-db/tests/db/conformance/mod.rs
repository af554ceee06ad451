//! One suite over every database: what a function of this crate does, it does on all of them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod attending;
mod bad_rows;
mod chores;
mod dag_processing;
mod every_statement;
mod lists;
mod locks;
mod notifications;
mod overview;
mod queueing;
mod retries;
mod routes;
mod runs;
mod scheduling;
mod secrets;
mod transactions;

use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::variable::{self, Variable};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, dag_run};
use ferroflow_model::state::RunState;
use ferroflow_testkit::rows::{add_dag, add_run};
use jiff::{Timestamp, ToSpan as _};
use tokio::sync::Notify;

/// When everything here happens.
const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

/// A DAG with this many running runs, and their ids.
async fn add_running_runs(db: &Db, count: i32) -> Vec<i64> {
    db.transact(|tx| {
        async move {
            add_dag(tx, "dag").await?;
            let mut ids = Vec::new();
            for number in 0..count {
                let id = add_run(tx, "dag", &format!("run {number}"), NOW + number.seconds()).await?;
                assert!(dag_run::set_state(tx, id, RunState::Queued, RunState::Running, NOW).await?);
                ids.push(id);
            }
            Ok(ids)
        }
        .scope_boxed()
    })
    .await
    .unwrap()
}

async fn set_variable(tx: &mut Tx, key: &str, val: &str) -> Result<(), Error> {
    let variable = Variable { key: key.to_owned(), val: val.to_owned(), description: None, team_name: None };
    variable::set(tx, &Fernet::default(), &variable, NOW).await
}

async fn get_variable(tx: &mut Tx, key: &str) -> Result<Option<String>, Error> {
    Ok(variable::get(tx, &Fernet::default(), key).await?.map(|variable| variable.val))
}

/// Where a transaction waits until the test lets it go on.
#[derive(Default)]
struct Gate {
    reached: Notify,
    open: Notify,
}

impl Gate {
    /// Tells the test, and waits for it.
    async fn pass(&self) {
        self.reached.notify_one();
        self.open.notified().await;
    }

    /// Waits until somebody is here, unless it failed on its way.
    async fn reached(&self) {
        let limit = std::time::Duration::from_secs(30);
        tokio::time::timeout(limit, self.reached.notified()).await.expect("somebody comes to the gate");
    }

    /// Lets it go on.
    fn open(&self) {
        self.open.notify_one();
    }
}
