//! Writes are carried out, in one transaction.

use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::task_instance::mutation;
use ferroflow_db::task_instance::scheduling::TriggerWait;
use ferroflow_db::task_instance::{self, scheduling as step};
use ferroflow_db::{Error as DbError, Tx, trigger};
use jiff::Timestamp;

use super::writes::{Deferral, Write};

/// Carries out writes. False if a row was not in the state that it should leave; the others are written all the same:
/// each is right by itself.
pub(super) async fn carry_out(
    tx: &mut Tx,
    fernet: &Fernet,
    writes: &[Write],
    now: Timestamp,
) -> Result<bool, DbError> {
    let mut are_all_there = true;
    for write in writes {
        let (wanted, changed) = match write {
            Write::Settle { ids, change, dates } => {
                (ids.len(), step::finish_at_once(tx, ids, *change, *dates, now).await?)
            }
            Write::Overwrite { ids, change } => (ids.len(), step::overwrite(tx, ids, *change, now).await?),
            Write::Forget { key, id } => {
                step::forget(tx, key, *id).await?;
                (0, 0)
            }
            Write::BecomeFirst { id, state } => (1, step::become_first(tx, *id, *state, now).await?),
            Write::Delete { id, state } => (1, step::delete(tx, *id, *state).await?),
            Write::Create { instances } => {
                task_instance::insert_many(tx, instances).await?;
                (0, 0)
            }
            Write::Reshape { id, shape } => (1, mutation::update(tx, *id, shape, now).await?),
            Write::Schedule { ids, from, is_new_try } => {
                (ids.len(), step::schedule(tx, ids, *from, *is_new_try, now).await?)
            }
            Write::Succeed { ids, from } => (ids.len(), step::succeed_at_once(tx, ids, *from, now).await?),
            Write::Defer(deferral) => (1, defer(tx, fernet, deferral, now).await?),
        };
        are_all_there &= u64::try_from(wanted) == Ok(changed);
    }
    Ok(are_all_there)
}

async fn defer(tx: &mut Tx, fernet: &Fernet, deferral: &Deferral, now: Timestamp) -> Result<u64, DbError> {
    let Deferral { id, from, is_new_try, classpath, kwargs, timeout, next_method, next_kwargs } = deferral;
    let trigger_id = trigger::insert_at_start(tx, fernet, classpath, kwargs, None, now).await?;
    let wait = TriggerWait {
        trigger_id,
        timeout: *timeout,
        next_method: next_method.clone(),
        next_kwargs: next_kwargs.clone(),
    };
    step::defer_at_once(tx, *id, *from, *is_new_try, &wait, now).await
}
