//! Callbacks and deadlines.

use ferroflow_db::callback::due::{self, Holder, Move};
use ferroflow_db::callback::{self, Callback};
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::deadline::{alert, create, missed};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx};
use ferroflow_model::id;
use ferroflow_model::state::CallbackState;
use ferroflow_model::stored_dag::DeadlineDefinition;
use jiff::ToSpan as _;
use uuid::Uuid;

use super::{running, stored, strings, within};
use crate::conformance::NOW;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { held(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { executed(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { deadlines(tx).await }.scope_boxed()).await;
}

async fn add(tx: &mut Tx, kind: &str, state: Option<CallbackState>) -> Result<Uuid, Error> {
    let row = Callback {
        id: id::new_v7(NOW, rand::random()),
        callback_type: kind.to_owned(),
        fetch_method: "import_path".to_owned(),
        data: stored!({"filepath": "a.py"}),
        bundle_name: (kind == "dag_processor").then(|| "bundle".to_owned()),
        state,
        output: None,
        priority_weight: 1,
        created_at: NOW,
        trigger_id: None,
    };
    callback::insert(tx, &row).await?;
    Ok(row.id)
}

async fn held(tx: &mut Tx) -> Result<(), Error> {
    let bundles = strings(["bundle"]);
    add(tx, "dag_processor", None).await?;
    assert!(callback::is_any(tx, &bundles).await?);
    let held = callback::claim(tx, &bundles, 10, 1).await?;
    assert_eq!(callback::claimed(tx).await?, held);
    assert!(callback::release(tx, &held[0], "bundle").await?);
    let held = callback::claim_some(tx, &bundles, |_| true, 1).await?;
    assert!(callback::delete_claimed(tx, &held[0]).await?);
    Ok(())
}

async fn executed(tx: &mut Tx) -> Result<(), Error> {
    let id = add(tx, "executor", Some(CallbackState::Pending)).await?;
    let pending = due::lock_pending(tx, 10).await?;
    assert_eq!(pending, [callback::find(tx, id).await?.unwrap()]);
    let queued = Move {
        state: CallbackState::Queued,
        data: pending[0].data.clone(),
        trigger_id: None,
        output: Some(Holder { job_id: 1, process: None }.to_string()),
    };
    assert!(due::set_state(tx, id, Some(CallbackState::Pending), &queued).await?);
    let in_hand = due::queued_or_running(tx).await?;
    assert!(due::end(tx, &in_hand[0], CallbackState::Failed, Some("lost")).await?);
    Ok(())
}

async fn deadlines(tx: &mut Tx) -> Result<(), Error> {
    let serialized = serialized_dag::latest(tx, "dag").await?.unwrap();
    let definition = DeadlineDefinition {
        name: None,
        reference: stored!({}),
        interval: stored!({}),
        callback: stored!({}),
    };
    let alert_id = alert::new_id(NOW);
    alert::insert(tx, alert_id, serialized.id, &definition, NOW).await?;
    alert::rename(tx, alert_id, Some("name")).await?;
    assert_eq!(alert::find(tx, &[alert_id]).await?.len(), 1);
    assert_eq!(create::alerts(tx, &[serialized.dag_version_id]).await?.len(), 1);
    let run = running(tx, "dag", "deadline", 0).await?;
    for seconds in [1, 2] {
        let callback_id = add(tx, "executor", None).await?;
        create::insert(tx, run, alert_id, callback_id, NOW + seconds.seconds(), NOW).await?;
    }
    let ahead = create::not_missed(tx, run).await?;
    assert_eq!(ahead.len(), 2);
    let moved = ahead.iter().find(|one| one.deadline_time == NOW + 1.second()).unwrap();
    assert!(create::move_to(tx, moved.id, NOW - 1.second(), NOW).await?);
    assert_eq!(missed::lock(tx, NOW, 0, 10).await?.found.len(), 1);
    assert!(missed::set_missed(tx, moved.id, NOW).await?);
    assert_eq!(create::forget_met(tx, run, NOW).await?, 1);
    alert::delete_of(tx, serialized.id).await?;
    Ok(())
}
