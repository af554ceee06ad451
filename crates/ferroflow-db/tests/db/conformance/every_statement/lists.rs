//! Lists, as the CLI shows them.

use ferroflow_db::asset::list::{self, Which};
use ferroflow_db::dag_run::list::Filter;
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, dag, dag_run};

use super::within;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { listed(tx).await }.scope_boxed()).await;
}

async fn listed(tx: &mut Tx) -> Result<(), Error> {
    assert!(!dag::list::list(tx).await?.is_empty());
    let of_made = Filter { dag_id: "made".to_owned(), ..Filter::default() };
    assert_eq!(dag_run::list::list(tx, &of_made).await?.len(), 3);
    assert!(!list::list(tx, Which::default()).await?.is_empty());
    assert!(!list::aliases(tx).await?.is_empty());
    list::producers(tx, Which::default()).await?;
    Ok(())
}
