//! Runs that a scheduler looks after, and those that nobody does.

use ferroflow_db::dag_run::ownership::{self, PeersAlive, TrackedRun};
use ferroflow_db::job::{self, NewJob};
use ferroflow_db::{ScopedFutureExt as _, dag_run};
use ferroflow_model::state::{JobState, RunState};
use ferroflow_testkit::{Server, TestDb};
use jiff::{Timestamp, ToSpan as _};

use crate::conformance::{NOW, add_running_runs};

ferroflow_testkit::on_every_database!(
    runs_of_living_peers_are_theirs,
    however_many_nobody_looks_after_each_has_its_turn,
    a_run_that_somebody_has_locked_is_not_waited_for,
    runs_are_told_how_they_stand,
);

const PEERS: PeersAlive<'static> = PeersAlive {
    executor_class: "ours",
    heartbeat_since: Timestamp::constant(1_799_999_990, 0),
    examined_since: Timestamp::constant(1_799_999_900, 0),
};

fn scheduler(executor_class: Option<&str>) -> NewJob {
    NewJob {
        job_type: "SchedulerJob".to_owned(),
        hostname: "host".to_owned(),
        unixname: "user".to_owned(),
        executor_class: executor_class.map(str::to_owned),
    }
}

async fn runs_of_living_peers_are_theirs(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let runs = &add_running_runs(&db, 6).await;
    let (peers, unattended, alive) = db
        .transact(|tx| {
            async move {
                let alive = job::insert(tx, &scheduler(Some("ours")), NOW).await?;
                let official = job::insert(tx, &scheduler(None), NOW).await?;
                let silent = job::insert(tx, &scheduler(Some("ours")), NOW - 60.seconds()).await?;
                let ended = job::insert(tx, &scheduler(Some("ours")), NOW).await?;
                job::finish(tx, ended, JobState::Success, NOW).await?;
                for (run, job) in runs.iter().zip([alive, official, silent, ended]) {
                    assert!(dag_run::set_examined(tx, &[*run], Some(job), NOW).await?);
                }
                // The peer lives, and has forgotten one.
                assert!(dag_run::set_examined(tx, &[runs[4]], Some(alive), NOW - 10.minutes()).await?);
                let peers = ownership::living_peers(tx, "SchedulerJob", PEERS).await?;
                assert_eq!(peers, [alive]);
                let later = NOW + 1.hour();
                Ok((peers, ownership::unowned(tx, PEERS, later, 10).await?.runs, alive))
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    assert_eq!(peers.len(), 1);
    let mut unattended: Vec<i64> = unattended.iter().map(|run| run.id).collect();
    // That which was never looked at comes first, and last those of the living, however long nobody looked at them.
    assert_eq!((unattended[0], unattended[4]), (runs[5], runs[4]));
    unattended.sort_unstable();
    assert_eq!(unattended, runs[1..]);

    let left = db.transact(|tx| {
        async move {
            assert_eq!(ownership::release(tx, alive).await?, 2);
            Ok(ownership::unowned(tx, PEERS, NOW + 1.hour(), 10).await?.runs)
        }
        .scope_boxed()
    });
    assert_eq!(left.await.unwrap().len(), runs.len(), "those of the one that lives are nobody's now");
}

async fn however_many_nobody_looks_after_each_has_its_turn(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let runs = &add_running_runs(&db, 6).await;
    let found = db.transact(|tx| {
        async move {
            let later = NOW + 1.hour();
            let alive = job::insert(tx, &scheduler(Some("ours")), NOW).await?;
            assert!(dag_run::set_examined(tx, &[runs[1]], Some(alive), NOW - 10.minutes()).await?);
            let mut may_be_more = Vec::new();
            for limit in [4, 5, 6, 7] {
                may_be_more.push(ownership::unowned(tx, PEERS, later, limit).await?.may_be_more);
            }
            assert_eq!(may_be_more, [true, true, false, false], "that of the living is no such");
            let (mut found, mut after) = (Vec::new(), Some(0));
            for _ in 0..3 {
                let page = ownership::unowned_in_turn(tx, PEERS, later, after.unwrap(), 2).await?;
                found.extend(page.found.into_iter().map(|run| run.id));
                after = page.next;
            }
            Ok(found)
        }
        .scope_boxed()
    });
    let of = |numbers: [usize; 6]| numbers.map(|number| runs[number]);
    assert_eq!(found.await.unwrap(), of([0, 2, 3, 4, 5, 0]), "round and round, without that of the living");
}

async fn a_run_that_somebody_has_locked_is_not_waited_for(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let run = add_running_runs(&db, 1).await[0];
    let gate = &crate::conformance::Gate::default();
    let holds = db.transact(|tx| {
        async move {
            assert!(ownership::lock(tx, run).await?.is_some());
            gate.pass().await;
            Ok(())
        }
        .scope_boxed()
    });
    let looks = async {
        gate.reached().await;
        // SQLite has one writer: the second transaction begins when the first has ended.
        if server == Server::Sqlite {
            gate.open();
            return;
        }
        let locked = db.transact(|tx| async move { ownership::lock(tx, run).await }.scope_boxed()).await;
        assert_eq!(locked.unwrap(), None);
        gate.open();
    };
    let (held, ()) = tokio::join!(holds, looks);
    held.unwrap();
    let locked = db.transact(|tx| async move { ownership::lock(tx, run).await }.scope_boxed()).await;
    assert!(locked.unwrap().is_some());
}

async fn runs_are_told_how_they_stand(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let runs = &add_running_runs(&db, 2).await;
    let states = db
        .transact(|tx| {
            async move {
                dag_run::set_state(tx, runs[1], RunState::Running, RunState::Failed, NOW).await?;
                ownership::states(tx, runs).await
            }
            .scope_boxed()
        })
        .await;
    let mut states = states.unwrap();
    states.sort_by_key(|run| run.id);
    let expected = [(runs[0], RunState::Running), (runs[1], RunState::Failed)];
    assert_eq!(states, expected.map(|(id, state)| TrackedRun { id, state, is_held: false }));
    database.execute("UPDATE dag SET is_paused = '1'").await;
    let held =
        db.transact(|tx| async move { ownership::states(tx, runs).await }.scope_boxed()).await.unwrap();
    assert!(held.iter().all(|run| run.is_held));
}
