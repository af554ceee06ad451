//! What is not needed any longer, whatever has left it: apart from the transactions of single files, and row by row if one is
//! in the way.

use ferroflow_db::{Error, Tx, asset, dag};

/// What a sweep has done.
#[derive(Debug, Default)]
pub struct Swept {
    /// How many rows are gone.
    pub rows: u64,
    /// Why others stay.
    pub in_the_way: Vec<Error>,
}

/// Deletes what stale DAGs wait for and update, and the warnings about them. It is for
/// [`Db::transact_in_parts`](ferroflow_db::Db::transact_in_parts), as is the next.
pub async fn forget_stale_dags(tx: &mut Tx) -> Result<Swept, Error> {
    let mut swept = Swept::default();
    let mut dag_ids = asset::reference::stale_dags(tx).await?;
    dag_ids.extend(dag::warning::stale_dags(tx).await?);
    dag_ids.sort_unstable();
    dag_ids.dedup();
    for some in dag_ids.chunks(tx.rows_in_a_part(dag_ids.len())) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        tx.begin_part().await?;
        let deleted = forget_dags(tx, &some).await;
        swept.note(tx.end_part(deleted).await?);
    }
    Ok(swept)
}

/// Ends the watch over assets that no DAG waits for.
pub async fn unwatch(tx: &mut Tx) -> Result<Swept, Error> {
    let mut swept = Swept::default();
    for (asset_id, trigger_id) in asset::watcher::unscheduled(tx).await? {
        tx.begin_part().await?;
        let deleted = asset::watcher::delete(tx, asset_id, trigger_id).await;
        swept.note(tx.end_part(deleted).await?.map(|()| 1));
    }
    Ok(swept)
}

/// Deletes what some DAGs wait for and update, and the warnings about them.
pub(crate) async fn forget_dags(tx: &mut Tx, dag_ids: &[&str]) -> Result<u64, Error> {
    let references = asset::reference::delete_of_dags(tx, dag_ids).await?;
    dag::warning::delete_of_dags(tx, dag_ids).await?;
    Ok(references)
}

impl Swept {
    fn note(&mut self, part: Result<u64, Error>) {
        match part {
            Ok(rows) => self.rows += rows,
            Err(error) => self.in_the_way.push(error),
        }
    }
}
