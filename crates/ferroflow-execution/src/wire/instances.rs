//! Task instances of other tasks and DAGs, as sensors ask for them.

use std::collections::BTreeMap;

use ferroflow_python::Answer;
use rmpv::Value;

use super::client::Client;
use super::read_request;
use super::value::{body, map, optional, time};
use crate::Refusal;
use crate::api::{CountedStates, Instances, PreviousInstance, TaskInstanceState};

impl Client {
    pub(super) async fn get_ti_count(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let (of, states): (Instances, CountedStates) =
            (read_request(kind, message)?, read_request(kind, message)?);
        let count = self.api.instance_count(&of, &states).await?;
        Ok(body("TICount", [("count", count.into())]))
    }

    pub(super) async fn get_task_states(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let of: Instances = read_request(kind, message)?;
        let mut runs: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        for TaskInstanceState { run_id, task_id, map_index, state } in self.api.instance_states(&of).await? {
            let name = if map_index < 0 { task_id } else { format!("{task_id}_{map_index}") };
            runs.entry(run_id).or_default().insert(name, optional(state));
        }
        let task_states = runs.into_iter().map(|(run_id, states)| {
            let states = states.into_iter().map(|(name, state)| (name.into(), state)).collect();
            (run_id.into(), Value::Map(states))
        });
        Ok(body("TaskStatesResult", [("task_states", Value::Map(task_states.collect()))]))
    }

    pub(super) async fn get_previous_ti(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let request: PreviousInstance = read_request(kind, message)?;
        let found = self.api.previous_instance(&request).await?.map(|instance| {
            map([
                ("task_id", instance.task_id.into()),
                ("dag_id", instance.dag_id.into()),
                ("run_id", instance.run_id.into()),
                ("logical_date", time(instance.logical_date)),
                ("start_date", time(instance.start_date)),
                ("end_date", time(instance.end_date)),
                ("state", optional(instance.state)),
                ("try_number", instance.try_number.into()),
                ("map_index", instance.map_index.into()),
                ("duration", optional(instance.duration)),
            ])
        });
        Ok(body("PreviousTIResult", [("task_instance", optional(found))]))
    }
}
