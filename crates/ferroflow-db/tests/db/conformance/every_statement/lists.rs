//! Lists, whole and in pages.

use ferroflow_db::dag_run::list::Filter;
use ferroflow_db::list::ListRequest;
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, dag, dag_run, task_instance};

use super::within;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { listed(tx).await }.scope_boxed()).await;
}

async fn listed(tx: &mut Tx) -> Result<(), Error> {
    assert!(!dag::list::list(tx).await?.is_empty());
    let of_made = Filter { dag_id: "made".to_owned(), ..Filter::default() };
    assert_eq!(dag_run::list::list(tx, &of_made).await?.len(), 3);
    let all = ListRequest::new();
    assert!(dag::list::total(tx, &all, None).await? > 0);
    assert!(!task_instance::list::page(tx, &all).await?.rows.is_empty());
    Ok(())
}
