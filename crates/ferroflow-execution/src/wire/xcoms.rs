//! XComs.

use ferroflow_model::Json;
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_python::Answer;
use rmpv::Value;

use super::client::Client;
use super::message::{DeleteXCom, GetXCom, GetXComCount, GetXComSequenceItem, GetXComSequenceSlice, SetXCom};
use super::read;
use super::sdk::SdkVersion;
use super::value::{NotFinite, body, error_response, json, map, to_json};
use crate::Refusal;
use crate::api::{NewXCom, Slice, XComAddress, XComOf};

impl Client {
    pub(super) async fn get_xcom(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let GetXCom { key, dag_id, run_id, task_id, map_index, include_prior_dates } = read(kind, message)?;
        let address = &XComAddress { dag_id, run_id, task_id, key };
        let found = self.api.xcom(address, XComOf { map_index, include_prior_dates }).await?;
        let value = found.map_or(Ok(Value::Nil), |found| value_of(address, &found))?;
        Ok(body("XComResult", [("key", address.key.as_str().into()), ("value", value)]))
    }

    pub(super) async fn get_xcom_count(
        &self,
        kind: &str,
        message: &Value,
        sdk: SdkVersion,
    ) -> Result<Answer, Refusal> {
        let GetXComCount { key, dag_id, run_id, task_id } = read(kind, message)?;
        let count = self.api.xcom_count(&XComAddress { dag_id, run_id, task_id, key }).await?;
        Ok(body(sdk.count_response(), [("len", count.into())]))
    }

    pub(super) async fn get_xcom_sequence_item(
        &self,
        kind: &str,
        message: &Value,
    ) -> Result<Answer, Refusal> {
        let GetXComSequenceItem { key, dag_id, run_id, task_id, offset } = read(kind, message)?;
        let address = XComAddress { dag_id, run_id, task_id, key };
        if let Some(found) = self.api.xcom_item(&address, offset).await? {
            return Ok(body("XComSequenceIndexResult", [("root", value_of(&address, &found)?)]));
        }
        let detail = map([
            ("dag_id", address.dag_id.into()),
            ("run_id", address.run_id.into()),
            ("task_id", address.task_id.into()),
            ("key", address.key.into()),
            ("offset", offset.into()),
        ]);
        Ok(Answer::Body(error_response("XCOM_NOT_FOUND", detail)))
    }

    pub(super) async fn get_xcom_sequence_slice(
        &self,
        kind: &str,
        message: &Value,
    ) -> Result<Answer, Refusal> {
        let GetXComSequenceSlice { key, dag_id, run_id, task_id, start, stop, step, include_prior_dates } =
            read(kind, message)?;
        let address = XComAddress { dag_id, run_id, task_id, key };
        let slice = Slice { start, stop, step };
        let found = self.api.xcom_slice(&address, slice, include_prior_dates).await?;
        let values = found.iter().map(|found| value_of(&address, found)).collect::<Result<_, _>>()?;
        Ok(body("XComSequenceSliceResult", [("root", Value::Array(values))]))
    }

    pub(super) async fn push_xcom(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SetXCom { key, value, dag_id, run_id, task_id, map_index, dag_result, mapped_length } =
            read(kind, message)?;
        let new = NewXCom {
            address: XComAddress { dag_id, run_id, task_id, key },
            map_index: map_index_of(kind, map_index)?,
            value: Json::from(to_json(&value, NotFinite::Refused).map_err(Refusal::Unsendable)?),
            dag_result,
            mapped_length: mapped_length.filter(|length| *length >= 0),
        };
        self.api.set_xcom(&new).await?;
        Ok(Answer::Done)
    }

    pub(super) async fn drop_xcom(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let DeleteXCom { key, dag_id, run_id, task_id, map_index } = read(kind, message)?;
        let address = XComAddress { dag_id, run_id, task_id, key };
        self.api.delete_xcom(&address, map_index_of(kind, map_index)?).await?;
        Ok(Answer::Done)
    }
}

fn value_of(address: &XComAddress, value: &Json) -> Result<Value, Refusal> {
    let XComAddress { dag_id, run_id, task_id, key } = address;
    json(|| format!("XCom {key:?} of task {task_id:?} in run {run_id:?} of DAG {dag_id:?}"), value)
}

/// A negative one means the task that is not mapped.
fn map_index_of(kind: &str, map_index: Option<i64>) -> Result<i32, Refusal> {
    let Some(index) = map_index.filter(|index| *index >= 0) else { return Ok(NOT_MAPPED) };
    let problem = |_| Refusal::Unreadable { kind: kind.to_owned(), problem: format!("map_index is {index}") };
    i32::try_from(index).map_err(problem)
}
