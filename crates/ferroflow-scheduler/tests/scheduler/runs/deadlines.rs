//! Deadlines that come with a run; those of Airflow's own kinds are compared with its rows elsewhere.

use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::deadline::alert::new_id;
use ferroflow_db::variable::{self, Variable};
use ferroflow_db::{Json, ScopedFutureExt as _, dag_run, deadline, testing};
use ferroflow_model::stored_dag::DeadlineDefinition;
use ferroflow_scheduler::create_runs::{Created, create_runs};
use ferroflow_testkit::Server;
use serde_json::{Value, json};

use crate::runs::place::{Place, Plan, at, daily};

ferroflow_testkit::on_every_database!(
    an_interval_may_be_a_variable,
    a_deadline_that_cannot_be_told_keeps_back_neither_the_run_nor_the_others,
    deadlines_that_were_met_are_forgotten,
);

fn interval(variable: &str) -> Value {
    let class = "airflow.sdk.definitions.deadline.VariableInterval";
    json!({"__classname__": class, "__version__": 0, "__data__": {"key": variable}})
}

/// A DAG whose runs have deadlines so long after their logical date, and its first run.
async fn first_run(server: Server, intervals: Vec<Value>) -> (Place, Created) {
    let ids: Vec<_> = intervals.iter().map(|_| new_id(at("2024-01-01"))).collect();
    let named: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let place = Place::new(server, &[Plan::new("a", daily()).setting("deadline", json!(named))]).await;
    let alerts: &Vec<_> = &ids.into_iter().zip(intervals).collect();
    let stored = place.db.transact(|tx| {
        async move {
            let document = serialized_dag::latest(tx, "a").await?.unwrap();
            for (id, interval) in alerts {
                let callback = json!({"__classname__": "airflow.sdk.definitions.callback.SyncCallback",
                    "__version__": 0, "__data__": {"path": "a.b", "kwargs": {"x": 1}, "executor": null}});
                let alert = DeadlineDefinition {
                    name: None,
                    reference: Json::from(json!({"reference_type": "DagRunLogicalDateDeadline"})),
                    interval: Json::from(interval.clone()),
                    callback: Json::from(callback),
                };
                deadline::alert::insert(tx, *id, document.id, &alert, at("2024-01-01")).await?;
            }
            let patience = Variable {
                key: "patience".to_owned(),
                val: "90".to_owned(),
                description: None,
                team_name: None,
            };
            variable::set(tx, &ferroflow_db::encoding::fernet::Fernet::default(), &patience, at("2024-01-01"))
                .await
        }
        .scope_boxed()
    });
    stored.await.unwrap();
    let report = create_runs(&place.scheduler().await, at("2024-01-02")).await.unwrap();
    let [run] = report.created.as_slice() else { panic!("{report:?}") };
    (place, run.clone())
}

async fn an_interval_may_be_a_variable(server: Server) {
    let (place, run) = first_run(server, vec![interval("patience"), json!(60.5)]).await;
    assert_eq!((run.deadlines, run.missing_deadlines.len()), (2, 0), "{run:?}");
    let cast = if server == Server::MariaDb { "CHAR" } else { "TEXT" };
    let mut times =
        place.texts(&format!("SELECT CAST(deadline_time AS {cast}) AS answer FROM deadline")).await;
    times.sort();
    assert!(times[0].starts_with("2024-01-01 00:01:00.5"), "{times:?}");
    assert!(times[1].starts_with("2024-01-01 00:01:30"), "{times:?}");
    let kinds = place.texts("SELECT CONCAT(type, ' ', state) AS answer FROM callback").await;
    assert_eq!(kinds, ["executor scheduled", "executor scheduled"]);
}

async fn a_deadline_that_cannot_be_told_keeps_back_neither_the_run_nor_the_others(server: Server) {
    let (_place, run) = first_run(server, vec![interval("nobody"), json!(60)]).await;
    assert_eq!(run.deadlines, 1);
    assert!(run.missing_deadlines[0].ends_with("there is no variable \"nobody\""), "{run:?}");
}

async fn deadlines_that_were_met_are_forgotten(server: Server) {
    let (place, run) = first_run(server, vec![json!(60), json!(3600), json!(7200)]).await;
    // One that was missed is told, whatever happens later.
    let missed = "UPDATE deadline SET missed = (1 = 1) WHERE deadline_time > '2024-01-01 01:30:00'";
    assert_eq!(testing::change(&place.db, missed).await.unwrap(), 1);
    let run_id = &run.run_id;
    let forgotten = place.db.transact(|tx| {
        async move {
            let id = dag_run::lookup::id(tx, "a", run_id).await?.unwrap();
            deadline::create::forget_met(tx, id, at("2024-01-01T00:30")).await
        }
        .scope_boxed()
    });
    forgotten.await.unwrap();
    let cast = if server == Server::MariaDb { "CHAR" } else { "TEXT" };
    let mut times =
        place.texts(&format!("SELECT CAST(deadline_time AS {cast}) AS answer FROM deadline")).await;
    times.sort();
    assert_eq!(times.len(), 2, "{times:?}");
    assert!(times[0].starts_with("2024-01-01 00:01:00"), "{times:?}");
    assert!(times[1].starts_with("2024-01-01 02:00:00"), "{times:?}");
    assert_eq!(place.texts("SELECT type AS answer FROM callback").await.len(), 2);
}
