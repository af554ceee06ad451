//! What tasks leave for others, and take away again.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_db::xcom::{self, task_map};
use ferroflow_telemetry::clock;

use crate::api::{NewXCom, XComAddress};
use crate::xcoms::stored_at;
use crate::{Refusal, Service};

impl Service {
    /// Leaves a value for others, whatever was there.
    pub async fn set_xcom(&self, new: &NewXCom) -> Result<(), Refusal> {
        let NewXCom { address, map_index, value, dag_result, mapped_length } = new;
        if mapped_length.is_some_and(|length| length > self.rules.max_map_length) {
            let message = "pushed value is too large to map as a downstream's dependency";
            return Err(Refusal::api(400, "unmappable_return_value_length", message));
        }
        let (stored, now) = (&stored_at(address), clock::now());
        let written = self.db.transact(|tx| {
            async move {
                // The run comes first: without it there is nothing that a length could be noted of.
                let is_set = xcom::set(tx, stored, i64::from(*map_index), value, *dag_result, now).await?;
                if let Some(length) = mapped_length.filter(|_| is_set) {
                    task_map::set(tx, &instance(address, *map_index), length).await?;
                }
                Ok(is_set)
            }
            .scope_boxed()
        });
        if written.await? {
            return Ok(());
        }
        let XComAddress { dag_id, run_id, .. } = address;
        let detail = format!("DAG run not found on DAG '{dag_id}' with ID '{run_id}'");
        Err(Refusal::Api { status: 404, detail: detail.into() })
    }

    /// Deletes what one copy of a task left, if there is something.
    pub async fn delete_xcom(&self, address: &XComAddress, map_index: i32) -> Result<(), Refusal> {
        let address = &stored_at(address);
        let deleted = self.db.transact(|tx| {
            async move { xcom::delete(tx, address, i64::from(map_index)).await }.scope_boxed()
        });
        Ok(deleted.await?)
    }
}

fn instance(address: &XComAddress, map_index: i32) -> TaskInstanceKey {
    let XComAddress { dag_id, run_id, task_id, .. } = address.clone();
    TaskInstanceKey { dag_id, run_id, task_id, map_index }
}
