//! Runs about whose task instances or deadlines Python has a say: a transaction finds them, Python is asked, and another one makes
//! them.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferroflow_model::dag::Dag;
use ferroflow_python::task_instances::{InstanceRuleError, InstanceRules};
use ferroflow_python::timetables::Timetables;
use ferroflow_telemetry::chain;

use super::plan::Plan;
use super::report::{CreatedRuns, NotCreated};
use crate::Context;
use crate::run::Definition;

/// What Python has said in this pass.
pub(super) struct Shaping<'a> {
    rules: Option<&'a InstanceRules>,
    timetables: Option<&'a Timetables>,
    has_hook: bool,
    shaped: Vec<Plan>,
}

/// A run that Python is to be asked about.
pub(super) struct Unasked {
    pub(super) definition: Arc<Definition>,
    pub(super) plan: Plan,
}

impl<'a> Shaping<'a> {
    /// Nothing yet, but whether there is a hook.
    pub(super) async fn new(cx: &'a Context) -> Result<Self, InstanceRuleError> {
        let rules = cx.driver.rules.as_deref();
        let has_hook = match rules {
            Some(rules) => rules.has_hook().await?,
            None => false,
        };
        Ok(Self { rules, timetables: cx.timetables.as_deref(), has_hook, shaped: Vec::new() })
    }

    /// The plan as it is to be written. One that Python is to be asked about comes back.
    pub(super) fn shaped(&self, plan: Plan, dag: &Dag) -> Result<Plan, Box<Plan>> {
        if !plan.run.needs_python(dag, self.has_hook) && !plan.deadlines.needs_python() {
            return Ok(plan);
        }
        let is_same = |shaped: &&Plan| shaped.outline.is_of_the_same_run(&plan.outline);
        self.shaped.iter().find(is_same).cloned().ok_or_else(|| Box::new(plan))
    }

    /// Asks about runs. Returns the DAGs of those that can be made now; the others are refused.
    pub(super) async fn ask(&mut self, unasked: Vec<Unasked>, report: &mut CreatedRuns) -> BTreeSet<String> {
        let mut ready = BTreeSet::new();
        for Unasked { definition, mut plan } in unasked {
            let dag_id = plan.outline.dag_id.clone();
            if self.was_asked(&plan) {
                // Another event has come meanwhile, say.
                report.refuse(&dag_id, NotCreated::Changed);
                report.is_more_due = true;
                continue;
            }
            match plan.run.shape(self.rules, definition.dag()).await {
                Ok(()) => {
                    plan.deadlines.ask(self.timetables, &plan.run).await;
                    self.shaped.push(plan);
                    ready.insert(dag_id);
                }
                Err(error) => {
                    let reason = chain(&error);
                    tracing::warn!(dag_id, reason, "a run is not made");
                    report.refuse(&dag_id, NotCreated::InstanceRules(reason));
                }
            }
        }
        ready
    }

    /// Whether another run of the same DAG and partition was asked about.
    fn was_asked(&self, plan: &Plan) -> bool {
        let key = |plan: &Plan| (plan.outline.dag_id.clone(), plan.outline.partition_key.clone());
        self.shaped.iter().any(|shaped| key(shaped) == key(plan))
    }
}
