//! What tasks leave for others, and take away again.

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_db::xcom::{self, XComAddress, task_map};
use ferroflow_db::{Json, ScopedFutureExt as _};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_telemetry::clock;
use rmpv::Value;

use crate::message::{DeleteXCom, SetXCom};
use crate::value::{NotFinite, to_json};
use crate::{Answer, Refusal, Service, read};

/// What one copy of a task leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewXCom {
    /// Where.
    pub address: XComAddress,
    /// Which of the mapped copies; [`NOT_MAPPED`] for the task that is not mapped.
    pub map_index: i32,
    /// What.
    pub value: Json,
    /// Whether it is the result of the run.
    pub dag_result: bool,
    /// How many copies of the tasks behind it it makes, if these are mapped over it.
    pub mapped_length: Option<i64>,
}

impl Service {
    /// Leaves a value for others, whatever was there.
    pub async fn set_xcom(&self, new: &NewXCom) -> Result<(), Refusal> {
        let NewXCom { address, map_index, value, dag_result, mapped_length } = new;
        if mapped_length.is_some_and(|length| length > self.rules.max_map_length) {
            let message = "pushed value is too large to map as a downstream's dependency";
            return Err(Refusal::api(400, "unmappable_return_value_length", message));
        }
        let now = clock::now();
        let written = self.db.transact(|tx| {
            async move {
                // The run comes first: without it there is nothing that a length could be noted of.
                let is_set = xcom::set(tx, address, i64::from(*map_index), value, *dag_result, now).await?;
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
        let deleted = self.db.transact(|tx| {
            async move { xcom::delete(tx, address, i64::from(map_index)).await }.scope_boxed()
        });
        Ok(deleted.await?)
    }

    pub(crate) async fn leave_xcom(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SetXCom { key, value, dag_id, run_id, task_id, map_index, dag_result, mapped_length } =
            read(kind, message)?;
        let new = NewXCom {
            address: XComAddress { dag_id, run_id, task_id, key },
            map_index: copy(kind, map_index)?,
            value: Json::from(to_json(&value, NotFinite::Refused).map_err(Refusal::Unsendable)?),
            dag_result,
            mapped_length: mapped_length.filter(|length| *length >= 0),
        };
        self.set_xcom(&new).await?;
        Ok(Answer::Done)
    }

    pub(crate) async fn drop_xcom(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let DeleteXCom { key, dag_id, run_id, task_id, map_index } = read(kind, message)?;
        let address = XComAddress { dag_id, run_id, task_id, key };
        self.delete_xcom(&address, copy(kind, map_index)?).await?;
        Ok(Answer::Done)
    }
}

/// A negative one means the task that is not mapped.
fn copy(kind: &str, map_index: Option<i64>) -> Result<i32, Refusal> {
    let Some(index) = map_index.filter(|index| *index >= 0) else { return Ok(NOT_MAPPED) };
    let problem = |_| Refusal::Unreadable { kind: kind.to_owned(), problem: format!("map_index is {index}") };
    i32::try_from(index).map_err(problem)
}

fn instance(address: &XComAddress, map_index: i32) -> TaskInstanceKey {
    let XComAddress { dag_id, run_id, task_id, .. } = address.clone();
    TaskInstanceKey { dag_id, run_id, task_id, map_index }
}
