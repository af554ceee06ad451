//! Task instances of other DAGs, as sensors of the user's own ask for them.

use ferroflow_db::dag_version::{self, serialized_dag};
use ferroflow_db::task_instance::lookup::{EarlierInstance, Filter, InstanceState};
use ferroflow_db::{Error, ScopedFutureExt as _, Tx, task_instance};
use ferroflow_model::dag::{Dag, GroupChild, GroupIndex};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::state::TaskState;

use crate::api::{CountedStates, Instances, PreviousInstance};
use crate::{Refusal, Service};

/// How a message calls the state of an instance nobody has looked at.
const NO_STATE: &str = "null";

impl Service {
    /// How many task instances there are of a kind, in any of the given states.
    pub async fn instance_count(&self, of: &Instances, states: &CountedStates) -> Result<i64, Refusal> {
        let mut filter = filter(of);
        if let Some(group) = group_id(of) {
            let within = self.tasks_of_group(&of.dag_id, group).await?;
            let present =
                !self.states(&Filter { task_ids: within.clone(), ..filter.clone() }).await?.is_empty();
            // A group without instances is looked for as a task of that name that is not mapped.
            let (names, map_index) = if present && !within.is_empty() {
                (within, filter.map_index)
            } else {
                (vec![group.to_owned()], Some(i64::from(NOT_MAPPED)))
            };
            if filter.map_index.is_some_and(|wanted| Some(wanted) != map_index) {
                return Ok(0);
            }
            filter.map_index = map_index;
            if filter.task_ids.is_empty() {
                filter.task_ids = names;
            } else {
                filter.task_ids.retain(|task| names.contains(task));
                if filter.task_ids.is_empty() {
                    return Ok(0);
                }
            }
        }
        let states: Vec<Option<&str>> =
            states.states.iter().flatten().map(|word| state_named(word)).collect();
        let (filter, states) = (&filter, states.as_slice());
        let counted = self
            .db
            .read(|tx| async move { task_instance::lookup::count(tx, filter, states).await }.scope_boxed());
        Ok(counted.await?)
    }

    /// The states of the task instances of a kind; of the tasks named and of those of the group, if both are
    /// given.
    pub async fn instance_states(&self, of: &Instances) -> Result<Vec<InstanceState>, Refusal> {
        let filter = filter(of);
        let Some(group) = group_id(of) else { return self.states(&filter).await };
        let within = self.tasks_of_group(&of.dag_id, group).await?;
        let mut found = if filter.task_ids.is_empty() { Vec::new() } else { self.states(&filter).await? };
        if !within.is_empty() {
            found.extend(self.states(&Filter { task_ids: within, ..filter }).await?);
        }
        Ok(found)
    }

    /// The instance of a task in the latest run, or in the latest before a date.
    pub async fn previous_instance(
        &self,
        request: &PreviousInstance,
    ) -> Result<Option<EarlierInstance>, Refusal> {
        let state: Option<TaskState> = match request.state.as_deref() {
            None => None,
            Some(word) => Some(word.parse().map_err(|_| Refusal::Invalid {
                kind: "GetPreviousTI",
                field: "state",
                value: format!("{word:?}"),
                expected: "give a state of task instances",
            })?),
        };
        let found = self.db.read(|tx| {
            async move {
                let PreviousInstance { dag_id, task_id, logical_date, map_index, .. } = request;
                task_instance::lookup::previous(tx, dag_id, task_id, *map_index, *logical_date, state).await
            }
            .scope_boxed()
        });
        Ok(found.await?)
    }

    async fn states(&self, filter: &Filter) -> Result<Vec<InstanceState>, Refusal> {
        let found =
            self.db.read(|tx| async move { task_instance::lookup::states(tx, filter).await }.scope_boxed());
        Ok(found.await?)
    }

    /// The tasks in a group of the newest version of a DAG, those of its inner groups among them.
    async fn tasks_of_group(&self, dag_id: &str, group_id: &str) -> Result<Vec<String>, Refusal> {
        let text = self.db.read(|tx| async move { newest_text(tx, dag_id).await }.scope_boxed()).await?;
        let text =
            text.ok_or_else(|| Refusal::NotFound(format!("The Dag with ID: `{dag_id}` was not found")))?;
        let dag = Dag::decode(&text).map_err(|problems| Refusal::Stored {
            what: format!("DAG {dag_id:?}"),
            source: problems.into(),
        })?;
        tasks_within(&dag, group_id)
            .ok_or_else(|| Refusal::NotFound(format!("Task group {group_id} not found in DAG {dag_id}")))
    }
}

fn group_id(of: &Instances) -> Option<&str> {
    of.task_group_id.as_deref().filter(|group| !group.is_empty())
}

fn state_named(word: &str) -> Option<&str> {
    (word != NO_STATE).then_some(word)
}

fn filter(of: &Instances) -> Filter {
    Filter {
        dag_id: of.dag_id.clone(),
        map_index: of.map_index.filter(|index| *index >= 0),
        task_ids: of.task_ids.clone().unwrap_or_default(),
        run_ids: of.run_ids.clone().unwrap_or_default(),
        logical_dates: of.logical_dates.clone().unwrap_or_default(),
    }
}

async fn newest_text(tx: &mut Tx, dag_id: &str) -> Result<Option<String>, Error> {
    let Some(version) = dag_version::latest(tx, dag_id).await? else { return Ok(None) };
    Ok(serialized_dag::find(tx, version.id).await?.map(|dag| dag.data.into_text()))
}

fn tasks_within(dag: &Dag, group_id: &str) -> Option<Vec<String>> {
    let named = |group: &&ferroflow_model::dag::TaskGroup| group.group_id.as_deref() == Some(group_id);
    let mut open: Vec<GroupChild> = dag.groups().iter().find(named)?.children.to_vec();
    let mut tasks = Vec::new();
    while let Some(child) = open.pop() {
        match child {
            GroupChild::Task(task) => tasks.push(dag.tasks()[task.position()].task_id.to_string()),
            GroupChild::Group(group) => open.extend_from_slice(children(dag, group)),
        }
    }
    Some(tasks)
}

fn children(dag: &Dag, group: GroupIndex) -> &[GroupChild] {
    &dag.groups()[group.position()].children
}
