//! What somebody sees who watches.

use ferroflow_db::dag::{self, Dag};
use ferroflow_db::dag_run::history::{TaskCount, Try};
use ferroflow_db::monitoring::live_view;
use ferroflow_db::schema::table_size::{self, Rows};
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::{ScopedFutureExt as _, dag_run};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_testkit::rows::{a_dag, add_dag, add_run};
use ferroflow_testkit::{Server, TestDb};
use jiff::ToSpan as _;
use uuid::Uuid;

use crate::conformance::NOW;

ferroflow_testkit::on_every_database!(
    runs_are_followed_until_they_end,
    tasks_at_work_are_seen,
    dags_are_counted,
    rows_are_counted_or_estimated,
    runs_are_looked_back_at,
);

async fn runs_are_followed_until_they_end(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let seen = db.transact(|tx| {
        async move {
            let none = live_view::newest_run(tx).await?;
            add_dag(tx, "dag").await?;
            let mut ids = Vec::new();
            for number in 0..4_i32 {
                ids.push(add_run(tx, "dag", &format!("run {number}"), NOW + number.seconds()).await?);
            }
            for id in &ids[..3] {
                dag_run::set_state(tx, *id, RunState::Queued, RunState::Running, NOW).await?;
            }
            dag_run::set_state(tx, ids[0], RunState::Running, RunState::Failed, NOW + 1.second()).await?;
            let unfinished = live_view::unfinished(tx, 2).await?;
            let followed = live_view::followed(tx, ids[2], &[ids[0]], 10).await?;
            let nobody = live_view::followed(tx, ids[3], &[], 10).await?;
            let newest = live_view::newest_run(tx).await?;
            Ok((none, ids, unfinished, followed, nobody, newest))
        }
        .scope_boxed()
    });
    let (none, ids, unfinished, followed, nobody, newest) = seen.await.unwrap();
    let states = |runs: &[live_view::RunStanding]| -> Vec<(i64, RunState)> {
        runs.iter().map(|run| (run.id, run.state)).collect()
    };
    assert_eq!(none, 0);
    assert_eq!(newest, ids[3]);
    assert_eq!(states(&unfinished), [(ids[1], RunState::Running), (ids[2], RunState::Running)]);
    assert_eq!(states(&followed), [(ids[0], RunState::Failed), (ids[3], RunState::Queued)]);
    assert_eq!(nobody, []);
    let ended = &followed[0];
    assert_eq!((ended.dag_id.as_str(), ended.run_id.as_str()), ("dag", "run 0"));
    assert_eq!((ended.start_date, ended.end_date), (Some(NOW), Some(NOW + 1.second())));
}

async fn tasks_at_work_are_seen(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let seen = db.transact(|tx| {
        async move {
            add_dag(tx, "dag").await?;
            add_run(tx, "dag", "run", NOW).await?;
            let states =
                [None, Some(TaskState::Running), Some(TaskState::Queued), Some(TaskState::Success), None];
            for (number, state) in states.into_iter().enumerate() {
                let key = TaskInstanceKey {
                    dag_id: "dag".to_owned(),
                    run_id: "run".to_owned(),
                    task_id: format!("task {number}"),
                    map_index: -1,
                };
                let mut instance =
                    TaskInstance::new(Uuid::from_u128(u128::try_from(number).unwrap()), key, NOW);
                instance.state = state;
                instance.start_date = state.map(|_| NOW);
                instance.try_number = 2;
                task_instance::insert(tx, &instance).await?;
            }
            let run = live_view::unfinished(tx, 1).await?.remove(0);
            let at_work = live_view::at_work(tx, 10).await?;
            Ok((at_work, live_view::count_by_state(tx, &[&run]).await?))
        }
        .scope_boxed()
    });
    let (at_work, counts) = seen.await.unwrap();
    let at_work: Vec<_> = at_work
        .iter()
        .map(|one| (one.key.task_id.as_str(), one.state, one.try_number, one.start_date))
        .collect();
    let expected =
        [("task 1", TaskState::Running, 2, Some(NOW)), ("task 2", TaskState::Queued, 2, Some(NOW))];
    assert_eq!(at_work, expected);
    let mut counts: Vec<_> = counts.iter().map(|count| (count.state, count.total)).collect();
    counts.sort_by_key(|(state, _)| state.map_or("", TaskState::as_str));
    let expected = [
        (None, 2),
        (Some(TaskState::Queued), 1),
        (Some(TaskState::Running), 1),
        (Some(TaskState::Success), 1),
    ];
    assert_eq!(counts, expected);
}

async fn dags_are_counted(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let seen = db.transact(|tx| {
        async move {
            add_dag(tx, "never").await?;
            for (dag_id, seconds, is_paused) in
                [("later", 9_i32, false), ("paused", 1, true), ("sooner", 5, false)]
            {
                let next_dagrun_create_after = Some(NOW + seconds.seconds());
                dag::insert(tx, &Dag { next_dagrun_create_after, is_paused, ..a_dag(dag_id) }).await?;
            }
            Ok((
                live_view::count_dags(tx).await?,
                live_view::paused(tx).await?,
                live_view::upcoming(tx, 2).await?,
            ))
        }
        .scope_boxed()
    });
    let (count, paused, upcoming) = seen.await.unwrap();
    assert_eq!((count, paused), (4, vec!["paused".to_owned()]));
    assert_eq!(upcoming, [("sooner".to_owned(), NOW + 5.seconds()), ("later".to_owned(), NOW + 9.seconds())]);
}

async fn rows_are_counted_or_estimated(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let add = db.transact(|tx| {
        async move {
            for number in 0..5 {
                add_dag(tx, &format!("dag_{number}")).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    add.await.unwrap();
    database.execute(if server == Server::MariaDb { "ANALYZE TABLE dag" } else { "ANALYZE dag" }).await;
    for (most, expected) in [(5, Rows::Exactly(5)), (4, Rows::About(5)), (100, Rows::Exactly(5))] {
        let rows = db.read(|tx| async move { table_size::rows(tx, "dag", most).await }.scope_boxed()).await;
        assert_eq!(rows.unwrap(), expected, "counting up to {most}");
    }
    let none =
        db.read(|tx| async move { table_size::rows(tx, "task_instance", 0).await }.scope_boxed()).await;
    assert_eq!(none.unwrap(), Rows::Exactly(0));
}

async fn runs_are_looked_back_at(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let seen = db.transact(|tx| {
        async move {
            add_dag(tx, "dag").await?;
            for number in 0..3_i32 {
                add_run(tx, "dag", &format!("run {number}"), NOW + number.seconds()).await?;
            }
            for (id, (run_id, task_id, map_index), state) in [
                (1, ("run 1", "one", -1), Some(TaskState::Success)),
                (2, ("run 2", "many", 0), Some(TaskState::Success)),
                (3, ("run 2", "many", 1), Some(TaskState::Success)),
                (4, ("run 2", "many", 2), None),
                (5, ("run 0", "one", -1), Some(TaskState::Failed)),
            ] {
                let [run_id, task_id] = [run_id, task_id].map(str::to_owned);
                let key = TaskInstanceKey { dag_id: "dag".to_owned(), run_id, task_id, map_index };
                let mut instance = TaskInstance::new(Uuid::from_u128(id), key, NOW);
                (instance.state, instance.try_number) = (state, 1);
                (instance.start_date, instance.end_date) = (Some(NOW), Some(NOW + 3.seconds()));
                task_instance::insert(tx, &instance).await?;
            }
            task_instance::history::archive(tx, Uuid::from_u128(2)).await?;
            let runs = dag_run::history::newest_runs(tx, "dag", 2).await?;
            let names: Vec<&str> = runs.iter().map(|run| run.run_id.as_str()).collect();
            let counts = dag_run::history::task_counts(tx, "dag", &names).await?;
            let none = dag_run::history::task_counts(tx, "dag", &[]).await?;
            let tries = dag_run::history::tries(tx, "dag", "run 2").await?;
            Ok((names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), counts, none, tries))
        }
        .scope_boxed()
    });
    let (names, mut counts, none, tries) = seen.await.unwrap();
    assert_eq!(names, ["run 2", "run 1"]);
    let count = |run: &str, task: &str, state, total| TaskCount {
        run_id: run.to_owned(),
        task_id: task.to_owned(),
        state,
        total,
    };
    counts.sort_by_key(|count| (count.run_id.clone(), count.total));
    let expected = [
        count("run 1", "one", Some(TaskState::Success), 1),
        count("run 2", "many", None, 1),
        count("run 2", "many", Some(TaskState::Success), 2),
    ];
    assert_eq!(counts, expected);
    assert_eq!(none, []);
    let a_try = |map_index, state| Try {
        task_id: "many".to_owned(),
        map_index,
        try_number: 1,
        state,
        queued: None,
        start: Some(NOW),
        end: Some(NOW + 3.seconds()),
    };
    let success = Some(TaskState::Success);
    assert_eq!(tries, [a_try(0, success), a_try(1, success), a_try(2, None)], "a try is there once");
}
