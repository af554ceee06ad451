//! Rows that another transaction has locked.

use std::sync::Arc;

use ferroflow_component::{Runtime, RuntimeParts};
use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_dagproc::Context;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::testing::lock_wait;
use ferroflow_db::variable::{self, Variable};
use ferroflow_db::{Error, ScopedFutureExt as _, Tx, dag};
use ferroflow_execution::Host;
use ferroflow_testkit::rows::add_dag;
use ferroflow_testkit::{Server, TestDb};
use test_case::test_case;

use crate::store::given::NOW;

async fn set_variable(tx: &mut Tx) -> Result<(), Error> {
    let variable =
        Variable { key: "key".to_owned(), val: "value".to_owned(), description: None, team_name: None };
    variable::set(tx, &Fernet::default(), &variable, NOW).await
}

/// The transaction that holds the row ends after the one that needs it: who waited as long as it takes would never be done.
#[test_case(Server::Postgres; "postgres")]
#[test_case(Server::MariaDb; "mariadb")]
#[tokio::test]
async fn a_processor_that_answers_user_code_does_not_wait_for_a_locked_row(server: Server) {
    let database = TestDb::migrated(server).await;
    let environment = Environment::empty("/nowhere");
    let settings = Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
    let parts = RuntimeParts {
        db: database.connect().await,
        settings: Arc::new(settings),
        environment,
        fernet: Arc::default(),
        python: "/nowhere/python".into(),
        host: Host { name: "host".to_owned(), user: "somebody".to_owned() },
    };
    let cx = &Context::new(&Runtime::of(parts, Vec::new())).of_a_processor();
    let db = database.connect().await;
    db.transact(|tx| set_variable(tx).scope_boxed()).await.unwrap();
    let held = db.transact(|tx| {
        async move {
            variable::delete(tx, "key").await?;
            Ok(cx.service().db.transact(|tx| set_variable(tx).scope_boxed()).await)
        }
        .scope_boxed()
    });
    let refused = held.await.unwrap().unwrap_err();
    assert!(refused.is_busy(), "{refused:?}");
    if server == Server::MariaDb {
        // Nobody waits for ever there, but whoever is not told otherwise waits for three seconds.
        let patience = cx.service().db.transact(|tx| async move { lock_wait(tx).await }.scope_boxed());
        assert_eq!(patience.await.unwrap(), "1");
    }
}

/// As above, the row is held meanwhile.
#[test_case(Server::Postgres; "postgres")]
#[test_case(Server::MariaDb; "mariadb")]
#[tokio::test]
async fn the_warnings_about_a_file_wait_for_no_row_of_another_dag(server: Server) {
    let database = TestDb::migrated(server).await;
    let (db, other) = (&database.connect().await, database.connect().await);
    other
        .transact(|tx| {
            async move {
                for dag_id in ["locked", "stale"] {
                    add_dag(tx, dag_id).await?;
                    let (dag_id, warning_type) = (dag_id.to_owned(), "non-existent pool".to_owned());
                    let warning = dag::warning::DagWarning { dag_id, warning_type, message: String::new() };
                    dag::warning::insert(tx, &warning, NOW).await?;
                }
                Ok(())
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    database.execute("UPDATE dag SET is_stale = true").await;
    let held = other.transact(|tx| {
        async move {
            dag::lock(tx, &["locked".to_owned()]).await?;
            let deleted = db.transact(|tx| {
                async move {
                    dag::warning::delete_of_stale_dags_of_file(tx, "dags-folder", "stale.py", &[]).await?;
                    dag::warning::of_dags(tx, &["locked".to_owned(), "stale".to_owned()]).await
                }
                .scope_boxed()
            });
            Ok(deleted.await)
        }
        .scope_boxed()
    });
    let left = held.await.unwrap().expect("nothing is waited for");
    assert_eq!(left.iter().map(|warning| warning.dag_id.as_str()).collect::<Vec<_>>(), ["locked"]);
}
