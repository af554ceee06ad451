//! User code has its say about the instances that a step makes, and about the first of them, which was there.

use std::collections::HashMap;
use std::sync::Arc;

use ferroflow_db::task_instance::TaskInstance;
use ferroflow_model::state::TaskState;
use ferroflow_python::task_instances::Occasion;
use ferroflow_telemetry::chain;
use uuid::Uuid;

use super::writes::Write;
use super::{ActiveRun, RunSettings};
use crate::Error;
use crate::active_runs::RunKey;
use crate::create_run::{About, apply_mutation_hook_to_all, has_say};
use crate::questions::{InstancesQuestion, ShapedInstances};

/// Who is asked about instances.
const WHO: &str = "what has a say about its task instances (weight rules, task_instance_mutation_hook)";

impl ActiveRun {
    /// Asks about the rows to write. True if an instance will have another state than was decided: the run is to be
    /// read anew then.
    pub(super) async fn apply_mutation_hook(
        &self,
        run_settings: &RunSettings,
        writes: &mut Vec<Write>,
    ) -> Result<bool, Error> {
        let mut first = Vec::new();
        let mut made: Vec<TaskInstance> = Vec::new();
        for write in &*writes {
            match write {
                Write::BecomeFirst { id, .. } => first.push((*id, 0)),
                Write::Create { instances } => made.extend(instances.iter().cloned()),
                _ => {}
            }
        }
        if made.is_empty() && first.is_empty() {
            return Ok(false);
        }
        let (made, changed) = Box::pin(self.ask(run_settings, Occasion::Expanded, made, first)).await?;
        let mut made = made.into_iter();
        let mut has_other_state = false;
        for write in &mut *writes {
            if let Write::Create { instances } = write {
                for (instance, shaped) in instances.iter_mut().zip(&mut made) {
                    has_other_state |= instance.state != shaped.state;
                    *instance = shaped;
                }
            }
        }
        writes.extend(changed.into_iter().map(|(id, shape)| Write::Reshape { id, shape: Box::new(shape) }));
        Ok(has_other_state)
    }

    /// Asks about instances to be made and, if there is a hook, about some that are there, which are given by their ids and
    /// the map index that they will have. Where there is a loop to go on with, that there is no answer yet is an error.
    pub(crate) async fn ask(
        &self,
        run_settings: &RunSettings,
        occasion: Occasion,
        mut made: Vec<TaskInstance>,
        there: Vec<(Uuid, i32)>,
    ) -> Result<ShapedInstances, Error> {
        let dag = self.definition.dag();
        let has_no_hook = run_settings.rules.as_ref().is_none_or(|rules| rules.known_hook() == Some(false));
        if has_no_hook && !made.iter().any(|instance| has_say(dag, &instance.key.task_id, false)) {
            return Ok((made, Vec::new()));
        }
        // Only a hook has a say about those.
        let there = if has_no_hook { Vec::new() } else { there };
        let version = self.definition.version.id;
        let question = self.question(occasion, &made, &there);
        let run = RunKey { dag_id: self.row.dag_id.clone(), run_id: self.row.run_id.clone() };
        let asked = || {
            let (rules, dag, run_id) = (run_settings.rules.clone(), Arc::clone(dag), run.run_id.clone());
            let mut made = made.clone();
            async move {
                let about = About { dag: &dag, version, run_id: &run_id, new_run: None, occasion };
                let changed = apply_mutation_hook_to_all(rules.as_deref(), &about, &mut made, &there).await;
                Ok((made, changed.map_err(|error| chain(&error))?))
            }
        };
        let (shaped, changed) = run_settings.questions.instances(&run, question, WHO, asked).await?;
        let name = |instance: &TaskInstance| (instance.key.task_id.clone(), instance.key.map_index);
        let mut shaped: HashMap<_, _> = shaped.into_iter().map(|shaped| (name(&shaped), shaped)).collect();
        for instance in &mut made {
            if let Some(shaped) = shaped.remove(&name(instance)) {
                // Which instance it is, is known here; when it was asked, it may have been another.
                *instance = TaskInstance { id: instance.id, updated_at: instance.updated_at, ..shaped };
            }
        }
        Ok((made, changed))
    }

    /// What is asked. In whatever order the instances are, it is the same question.
    fn question(
        &self,
        occasion: Occasion,
        made: &[TaskInstance],
        there: &[(Uuid, i32)],
    ) -> InstancesQuestion {
        let key = |instance: &TaskInstance| {
            let state = instance.state.map(TaskState::as_str);
            (instance.key.task_id.clone(), instance.key.map_index, state)
        };
        InstancesQuestion {
            version: self.definition.version.id,
            dag_hash: self.definition.hash.clone(),
            occasion,
            made: made.iter().map(key).collect(),
            there: there.iter().copied().collect(),
        }
    }
}
