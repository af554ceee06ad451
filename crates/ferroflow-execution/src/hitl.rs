//! Questions that tasks put to people.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::hitl_detail::{self, Question};
use ferroflow_telemetry::clock;

use crate::{Refusal, Service};

impl Service {
    /// Puts the question of a task instance, unless it is put already: then it stays as it is, but for an answer,
    /// which is forgotten.
    pub async fn put_question(&self, question: &Question) -> Result<Question, Refusal> {
        let now = clock::now();
        let put = self.db.transact(|tx| {
            async move {
                let Some(found) = hitl_detail::find(tx, question.ti_id).await? else {
                    hitl_detail::insert(tx, question, now).await?;
                    return Ok(question.clone());
                };
                if found.responded_at.is_some() {
                    hitl_detail::forget_response(tx, question.ti_id).await?;
                }
                Ok(Question { responded_at: None, ..found })
            }
            .scope_boxed()
        });
        Ok(put.await?)
    }
}
