//! What decides who may be queued.

use ferroflow_db::task_instance::queueing::{self, HoldingSlots, TaskInRun};
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::testing::texts;
use ferroflow_db::{Db, Dialect, ScopedFutureExt as _, dag_run};
use ferroflow_model::id;
use ferroflow_model::state::{RunState, RunType, TaskState};
use ferroflow_testkit::rows::{add_dag, add_run};
use ferroflow_testkit::{Server, TestDb, repository};
use jiff::ToSpan as _;
use uuid::Uuid;

use crate::conformance::NOW;

ferroflow_testkit::on_every_database!(
    what_is_at_work_is_counted,
    those_that_wait_are_found_by_run_and_by_id,
    runs_are_read_with_their_dags,
    rows_that_another_holds_are_left_out,
    what_waits_of_a_dag_fails_and_nothing_else,
);

/// The instances of two running runs, `a` and `b`, and of `queued`, which does not run: of each, the task, its map index
/// and its state.
const INSTANCES: [(&str, &str, i32, TaskState); 10] = [
    ("a", "load", 0, TaskState::Running),
    ("a", "load", 1, TaskState::Queued),
    ("a", "load", 2, TaskState::Scheduled),
    ("a", "load", 3, TaskState::Success),
    ("a", "wait", 0, TaskState::Deferred),
    ("a", "wait", 1, TaskState::AwaitingInput),
    ("b", "wait", 0, TaskState::Deferred),
    ("b", "load", 0, TaskState::Scheduled),
    ("b", "load", 1, TaskState::Scheduled),
    ("queued", "load", 0, TaskState::Scheduled),
];

struct Seeded {
    database: TestDb,
    db: Db,
    runs: Vec<i64>,
    instances: Vec<Uuid>,
}

async fn seeded(server: Server) -> Seeded {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let (runs, instances) = db
        .transact(|tx| {
            async move {
                add_dag(tx, "dag").await?;
                let mut runs = Vec::new();
                for (run_id, seconds) in [("a", 0), ("b", 1), ("queued", 2)] {
                    let run = add_run(tx, "dag", run_id, NOW + seconds.seconds()).await?;
                    if run_id != "queued" {
                        dag_run::set_state(tx, run, RunState::Queued, RunState::Running, NOW).await?;
                    }
                    runs.push(run);
                }
                let mut instances = Vec::new();
                for (number, (run_id, task_id, map_index, state)) in (0..).zip(INSTANCES) {
                    let key = TaskInstanceKey {
                        dag_id: "dag".to_owned(),
                        run_id: run_id.to_owned(),
                        task_id: task_id.to_owned(),
                        map_index,
                    };
                    let mut row = TaskInstance::new(id::new_v7(NOW, [number; 10]), key, NOW);
                    row.state = Some(state);
                    row.pool_slots = 2;
                    row.executor = Some("quick".to_owned());
                    row.scheduled_dttm = Some(NOW + i64::from(number).seconds());
                    task_instance::insert(tx, &row).await?;
                    instances.push(row.id);
                }
                Ok((runs, instances))
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    Seeded { database, db, runs, instances }
}

async fn what_is_at_work_is_counted(server: Server) {
    let Seeded { db, database: _kept, .. } = seeded(server).await;
    let (at_work, of_dag, of_others, holding, deferred, elsewhere, parked) = db
        .read(|tx| {
            async move {
                Ok((
                    queueing::at_work(tx).await?,
                    queueing::at_work_of(tx, &["dag"]).await?,
                    queueing::at_work_of(tx, &["other"]).await?,
                    queueing::holding_slots(tx).await?,
                    queueing::deferred_in_pools(tx, &["default_pool"]).await?,
                    queueing::deferred_in_pools(tx, &["another"]).await?,
                    queueing::deferred_of_tasks(tx, &["dag", "other"], &["wait"]).await?,
                ))
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    let in_run = |run_id: &str, task_id: &str, instances| TaskInRun {
        dag_id: "dag".to_owned(),
        run_id: run_id.to_owned(),
        task_id: task_id.to_owned(),
        instances,
    };
    let two = [HoldingSlots { pool: "default_pool".to_owned(), pool_slots: 2, instances: 2 }];
    assert_eq!(at_work, [in_run("a", "load", 2)]);
    assert_eq!((of_dag, of_others), (at_work, Vec::new()));
    assert_eq!((holding.as_slice(), deferred.as_slice()), (two.as_slice(), two.as_slice()));
    assert_eq!(elsewhere, []);
    let mut parked = parked;
    parked.sort_by(|one, other| one.run_id.cmp(&other.run_id));
    assert_eq!(parked, [in_run("a", "wait", 2), in_run("b", "wait", 1)]);
}

async fn those_that_wait_are_found_by_run_and_by_id(server: Server) {
    let Seeded { db, runs, instances, database: _kept } = seeded(server).await;
    let (runs, instances) = (&runs, &instances);
    let (waiting, mut of_runs, mut by_id) = db
        .read(|tx| {
            async move {
                Ok((
                    queueing::runs_with_scheduled(tx).await?,
                    queueing::scheduled_of_runs(tx, runs).await?,
                    queueing::scheduled_by_id(tx, instances).await?,
                ))
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    let seen: Vec<_> = waiting.iter().map(|run| (run.dag_run_id, run.instances, run.newest)).collect();
    let at = |seconds: i64| Some(NOW + seconds.seconds());
    assert_eq!(seen, [(runs[0], 1, at(2)), (runs[1], 2, at(8))]);
    assert_eq!((waiting[0].max_active_tasks, waiting[0].team_name.as_deref()), (16, None));
    for found in [&mut of_runs, &mut by_id] {
        found.sort_by_key(|one| one.scheduled_dttm);
        let ids: Vec<Uuid> = found.iter().map(|one| one.id).collect();
        assert_eq!(ids, [instances[2], instances[7], instances[8]]);
    }
    assert_eq!(of_runs, by_id);
    let first = &of_runs[0];
    assert_eq!((&*first.key.task_id, first.key.map_index, first.dag_run_id), ("load", 2, runs[0]));
    assert_eq!((first.pool_slots, first.executor.as_deref(), first.run_after), (2, Some("quick"), NOW));
    assert_eq!((first.run_type, first.is_paused), (RunType::Manual, false));
}

async fn runs_are_read_with_their_dags(server: Server) {
    let Seeded { db, runs, database: _kept, .. } = seeded(server).await;
    let runs = &runs;
    let (found, alone) = db
        .read(|tx| {
            async move {
                let found = dag_run::lookup::with_dag(tx, &[runs[2], -1]).await?;
                Ok((found, dag_run::find(tx, "dag", "queued").await?.unwrap()))
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].run, alone);
    assert_eq!(
        (&*found[0].bundle_name, found[0].relative_fileloc.as_deref()),
        ("dags-folder", Some("dag.py"))
    );
    assert_eq!((found[0].is_paused, found[0].max_active_tasks), (false, 16));
}

async fn rows_that_another_holds_are_left_out(server: Server) {
    let Seeded { db, instances, database: _kept, .. } = seeded(server).await;
    let (db, instances) = (&db, &instances);
    let (mine, theirs) = db
        .transact(|tx| {
            async move {
                let mine = queueing::lock(tx, &instances[2..3]).await?;
                // SQLite has one writer, who locks no rows.
                if tx.dialect() == Dialect::Sqlite {
                    return Ok((mine, Vec::new()));
                }
                let wanted = &[instances[2], instances[7]];
                let theirs = db.transact(|tx| async move { queueing::lock(tx, wanted).await }.scope_boxed());
                Ok((mine, theirs.await?))
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    assert_eq!(mine.iter().map(|row| row.id).collect::<Vec<_>>(), instances[2..3]);
    if db.dialect() != Dialect::Sqlite {
        assert_eq!(theirs.iter().map(|row| row.id).collect::<Vec<_>>(), instances[7..8]);
    }
}

async fn what_waits_of_a_dag_fails_and_nothing_else(server: Server) {
    let Seeded { db, database: _kept, .. } = seeded(server).await;
    let (others, failed) = db
        .transact(|tx| {
            async move {
                let others = queueing::fail_scheduled_of_dag(tx, "other", NOW).await?;
                Ok((others, queueing::fail_scheduled_of_dag(tx, "dag", NOW).await?))
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    assert_eq!((others, failed), (0, 4));
    let rows =
        db.read(|tx| async move { task_instance::scheduling::of_run(tx, "dag", "a").await }.scope_boxed());
    let states: Vec<_> = rows.await.unwrap().iter().map(|row| row.state).collect();
    let count = |state| states.iter().filter(|one| **one == Some(state)).count();
    assert_eq!((count(TaskState::Failed), count(TaskState::Running), count(TaskState::Deferred)), (1, 1, 1));
}

/// However long the history is, what is at work and what waits is found without reading it.
#[tokio::test]
async fn history_is_not_read_on_postgres() {
    let Seeded { db, database, .. } = seeded(Server::Postgres).await;
    let old = "INSERT INTO task_instance (id, task_id, dag_id, run_id, map_index, state, try_number, max_tries, pool, \
               pool_slots) SELECT gen_random_uuid(), 'load', 'dag', 'a', n, 'success', 1, 0, 'default_pool', 1 \
               FROM generate_series(100, 30000) n";
    let plan = "CREATE FUNCTION plan(question text) RETURNS SETOF text LANGUAGE plpgsql AS \
                $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN ' || question; END $$";
    for statement in [old, plan, "ANALYZE task_instance"] {
        database.execute(statement).await;
    }
    for operation in ["in_use", "deferred_in_pools", "deferred_of_tasks", "runs_with_scheduled"] {
        let file = repository(&format!("crates/ferroflow-db/sql/task_instance/{operation}.sql"));
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("--"));
        let text = lines
            .collect::<Vec<_>>()
            .join(" ")
            .replace("{in}", "'dag', 'load'")
            .replace('?', "false")
            .replace("{use_index:ti_state}", "")
            .replace("{use_index:ti_dag_state}", "");
        let question = format!("SELECT plan AS answer FROM plan('{}')", text.replace('\'', "''"));
        let plan = texts(&db, &question).await.unwrap().join("\n");
        assert!(
            plan.contains("on task_instance") && !plan.contains("Seq Scan on task_instance"),
            "{operation}\n{plan}"
        );
    }
}
