//! Weight rules that somebody wrote in Python and the mutation hook of a site have their say about task instances.
//!
//! They are asked before the transaction that writes the instances, which may not wait for them.

use ferroflow_db::encoding::executor_config::ExecutorConfig;
use ferroflow_db::task_instance::TaskInstance;
use ferroflow_db::task_instance::mutation::MutableFields;
use ferroflow_model::dag::{Dag, WeightRule};
use ferroflow_model::state::TaskState;
use ferroflow_python::task_instances::{
    Columns, Hooked, InstanceRuleError, InstanceRules, Occasion, Question,
};
use serde_json::Value;
use uuid::Uuid;

/// Which instances are asked about.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// Their DAG,
    pub dag: &'a Dag,
    /// its version,
    pub version: Uuid,
    /// their run,
    pub run_id: &'a str,
    /// the run as it will be, if it is not there yet,
    pub new_run: Option<Value>,
    /// and what is done with them.
    pub occasion: Occasion,
}

/// Whether Python has a say about an instance of a task.
pub fn has_say(dag: &Dag, task_id: &str, has_hook: bool) -> bool {
    has_hook || own_rule(dag, task_id).is_some()
}

/// Gives instances that are to be made the shape that user code wants for them.
pub async fn apply_mutation_hook(
    rules: Option<&InstanceRules>,
    about: &About<'_>,
    instances: &mut [TaskInstance],
) -> Result<(), InstanceRuleError> {
    apply_mutation_hook_to_all(rules, about, instances, &[]).await.map(drop)
}

/// The same, and says which of those that are there change. They are given by their ids and the map index that they will
/// have, and have a say only where there is a hook.
pub async fn apply_mutation_hook_to_all(
    rules: Option<&InstanceRules>,
    about: &About<'_>,
    instances: &mut [TaskInstance],
    there: &[(Uuid, i32)],
) -> Result<Vec<(Uuid, MutableFields)>, InstanceRuleError> {
    let has_hook = match rules {
        Some(rules) => rules.has_hook().await?,
        None => false,
    };
    let mut asked: Vec<&mut TaskInstance> =
        instances.iter_mut().filter(|instance| has_say(about.dag, &instance.key.task_id, has_hook)).collect();
    let there = if has_hook { there } else { &[] };
    if asked.is_empty() && there.is_empty() {
        return Ok(Vec::new());
    }
    let Some(rules) = rules else { return Err(no_python(about.dag, &asked)) };
    let shaped = rules.apply_mutation_hook(&question(about, &asked, there)).await?;
    for (instance, columns) in asked.iter_mut().zip(shaped.added) {
        apply_to(instance, columns, about)?;
    }
    let mut changed = Vec::new();
    for (id, columns) in shaped.there {
        if let (Ok(id), Some(hooked)) = (id.parse(), columns.hooked) {
            changed.push((id, shape_of(columns.priority_weight, hooked)));
        }
    }
    Ok(changed)
}

fn own_rule<'a>(dag: &'a Dag, task_id: &str) -> Option<&'a str> {
    match &dag[dag.find(task_id)?].weight_rule {
        WeightRule::Custom(class) => Some(class),
        _ => None,
    }
}

fn no_python(dag: &Dag, asked: &[&mut TaskInstance]) -> InstanceRuleError {
    let class = asked.iter().find_map(|instance| own_rule(dag, &instance.key.task_id));
    let class = class.unwrap_or_default().to_owned();
    InstanceRuleError::NoPython { dag_id: dag.dag_id.to_string(), class }
}

fn question(about: &About<'_>, asked: &[&mut TaskInstance], there: &[(Uuid, i32)]) -> Question {
    let added = asked.iter().map(|instance| {
        let key = &instance.key;
        (key.task_id.clone(), key.map_index, instance.state.map(TaskState::as_str))
    });
    let classes = asked.iter().filter_map(|instance| own_rule(about.dag, &instance.key.task_id));
    Question {
        classes: classes.map(str::to_owned).collect(),
        version: about.version.to_string(),
        occasion: about.occasion,
        dag_id: about.dag.dag_id.to_string(),
        run_id: about.run_id.to_owned(),
        new_run: about.new_run.clone(),
        added: added.collect(),
        there: there.iter().map(|(id, map_index)| (id.to_string(), *map_index)).collect(),
    }
}

fn apply_to(
    instance: &mut TaskInstance,
    columns: Columns,
    about: &About<'_>,
) -> Result<(), InstanceRuleError> {
    let Some(hooked) = columns.hooked else {
        instance.priority_weight = Some(columns.priority_weight);
        return Ok(());
    };
    instance.state = match hooked.state.as_deref().map(str::parse).transpose() {
        Ok(state) => state,
        Err(problem) => {
            let (dag_id, problem) = (about.dag.dag_id.to_string(), problem.to_string());
            return Err(InstanceRuleError::Nonsense { dag_id, problem });
        }
    };
    instance.hostname.clone_from(&hooked.hostname);
    instance.unixname.clone_from(&hooked.unixname);
    instance.external_executor_id.clone_from(&hooked.external_executor_id);
    shape_of(columns.priority_weight, hooked).apply_to(instance);
    Ok(())
}

fn shape_of(priority_weight: i32, hooked: Hooked) -> MutableFields {
    MutableFields {
        max_tries: hooked.max_tries,
        pool: hooked.pool,
        pool_slots: hooked.pool_slots,
        queue: hooked.queue,
        priority_weight: Some(priority_weight),
        operator: hooked.operator,
        custom_operator_name: hooked.custom_operator_name,
        executor: hooked.executor,
        executor_config: Some(ExecutorConfig::from_bytes(hooked.executor_config)),
    }
}
