//! `hitl_detail`, as far as people have answered it, and `hitl_detail_history`.

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::statement::{Row, binds, sql};
use crate::{Error, Json, Tx};

/// What a person has answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// When.
    pub responded_at: Timestamp,
    /// Who: an object with `id` and `name`.
    pub responded_by: Value,
    /// Which of the options.
    pub chosen_options: Value,
    /// What they typed.
    pub params_input: Value,
}

/// The answer to what a task instance asks, if there is one. It stays locked until the transaction ends.
pub async fn find(tx: &mut Tx, instance: Uuid) -> Result<Option<Answer>, Error> {
    let row = tx.fetch_optional(sql!("hitl_detail/answer"), binds![instance]).await?;
    row.as_ref().map(answer).transpose()
}

/// Answers a question with its defaults after its time-out. False if it was answered after all.
pub async fn answer_by_default(
    tx: &mut Tx,
    instance: Uuid,
    chosen_options: &Json,
    params_input: &Json,
    now: Timestamp,
) -> Result<bool, Error> {
    let binds = binds![chosen_options.clone(), params_input.clone(), now, instance];
    Ok(tx.execute(sql!("hitl_detail/answer_by_default"), binds).await? == 1)
}

/// Keeps what a try asked, and was answered, beside its row in the history.
pub async fn archive(tx: &mut Tx, instance: Uuid) -> Result<(), Error> {
    tx.execute(sql!("hitl_detail_history/insert"), binds![instance]).await?;
    Ok(())
}

fn answer(row: &Row) -> Result<Answer, Error> {
    let value = |column: &'static str| match row.json(column)? {
        None => Ok(Value::Null),
        Some(json) => json.value().map_err(|error| row.bad(column, error)),
    };
    Ok(Answer {
        responded_at: row.get("responded_at")?,
        responded_by: value("responded_by")?,
        chosen_options: value("chosen_options")?,
        params_input: value("params_input")?,
    })
}
