//! Backfills, from when they are asked for until they are complete.

use ferroflow_db::backfill::create::{DateOfBackfill, NewBackfill};
use ferroflow_db::backfill::{self, complete, create, create_runs};
use ferroflow_db::task_instance::dependencies;
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, dag_run};
use ferroflow_model::backfill::{Reprocess, Skipped};
use ferroflow_testkit::rows::{a_run, add_dag, add_run};
use jiff::ToSpan as _;

use super::{stored, within};
use crate::conformance::NOW;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { made(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { completed(tx).await }.scope_boxed()).await;
}

async fn made(tx: &mut Tx) -> Result<(), Error> {
    add_dag(tx, "filled").await?;
    let new = NewBackfill {
        dag_id: "filled".to_owned(),
        from: NOW,
        to: NOW + 24.hours(),
        conf: stored!({}),
        reprocess: Reprocess::None,
        max_active_runs: 3,
        triggering_user_name: None,
        is_paused: true,
    };
    let id = create::insert(tx, &new, NOW).await?;
    assert_eq!(create::open_of_dag(tx, "filled").await?, Some(id));
    let date = |seconds: i64| DateOfBackfill {
        dag_run_id: None,
        skipped: Some(Skipped::Undecided),
        logical_date: Some(NOW + seconds.seconds()),
        partition_key: None,
    };
    create::note_dates(tx, id, 1, &[date(0), date(1), date(2)]).await?;
    assert_eq!(create_runs::request(tx, id).await?.unwrap().max_active_runs, 3);
    assert_eq!(create_runs::abandoned(tx, NOW + 1.hour()).await?, [(id, "filled".to_owned())]);
    assert!(create_runs::take_over(tx, id, NOW + 1.second(), NOW).await?);
    create_runs::touch(tx, id, NOW + 1.second()).await?;
    assert!(create_runs::lock(tx, id).await?);
    let dates = create_runs::undecided(tx, id).await?;
    let ids: Vec<i64> = dates.iter().map(|date| date.id).collect();
    assert_eq!(create_runs::still_undecided(tx, &ids).await?.len(), 3);
    let run = add_run(tx, "filled", "run", NOW).await?;
    create::add_run(tx, id, run, Some(&stored!({"a": 1})), NOW).await?;
    create_runs::decide(tx, ids[0], Some(run), None).await?;
    create_runs::decide(tx, ids[1], None, Some(Skipped::InFlight)).await?;
    create_runs::drop_date(tx, ids[2]).await?;
    create_runs::unpause(tx, id, NOW).await?;
    assert!(dependencies::is_first_of_backfill(tx, id, run).await?);
    let stretch = (NOW - 24.hours(), NOW + 24.hours());
    assert_eq!(create::runs_between(tx, "filled", stretch, false).await?.len(), 1);
    let mut partition = a_run("filled", "partition", NOW + 9.seconds());
    partition.partition_date = Some(NOW);
    dag_run::insert(tx, &partition, NOW).await?;
    assert_eq!(create::runs_between(tx, "filled", stretch, true).await?.len(), 1);
    Ok(())
}

async fn completed(tx: &mut Tx) -> Result<(), Error> {
    let id = create::open_of_dag(tx, "filled").await?.unwrap();
    let number = i32::try_from(id).unwrap();
    assert_eq!(backfill::find(tx, &[number]).await?.len(), 1);
    assert_eq!(backfill::lock_free(tx, &[number]).await?.len(), 1);
    assert_eq!(backfill::with_queued_runs(tx, &["filled"]).await?.len(), 1);
    assert_eq!(create_runs::fail_queued(tx, id, NOW).await?, 1);
    assert_eq!(complete::completable(tx, NOW).await?, [id]);
    assert!(complete::complete(tx, id, NOW).await?);
    Ok(())
}
