//! Runs about whose task instances or deadlines Python has a say: a transaction finds them, Python is asked, and another
//! one makes them, in this pass or, if Python has not answered yet, in a later one.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferroflow_model::dag::Dag;
use ferroflow_telemetry::chain;

use super::plan::Plan;
use super::report::{CreatedRuns, NotCreated};
use crate::run::Definition;
use crate::{Context, NoAnswer};

/// Who is asked about new runs.
const WHO: &str =
    "what has a say about its new run (weight rules, task_instance_mutation_hook, deadline references)";

/// What Python has said in this pass.
pub(super) struct Shaping<'a> {
    cx: &'a Context,
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
    pub(super) async fn new(cx: &'a Context) -> Result<Self, NoAnswer> {
        let known = cx.run_settings.rules.as_ref().map(|rules| (rules, rules.known_hook()));
        let has_hook = match known {
            None => false,
            Some((_, Some(has_hook))) => has_hook,
            Some((rules, None)) => {
                let rules = Arc::clone(rules);
                let asked = || async move { rules.has_hook().await.map_err(|error| chain(&error)) };
                cx.run_settings.questions.hook(asked).await?
            }
        };
        Ok(Self { cx, has_hook, shaped: Vec::new() })
    }

    /// The plan as it is to be written. One that Python is to be asked about comes back.
    pub(super) fn shaped(&self, plan: Plan, dag: &Dag) -> Result<Plan, Box<Plan>> {
        if !plan.run.needs_python(dag, self.has_hook) && !plan.deadlines.needs_asking() {
            return Ok(plan);
        }
        let of_this_pass = self.shaped.iter().find(|shaped| shaped.question == plan.question).cloned();
        let shaped =
            of_this_pass.or_else(|| self.cx.run_settings.questions.shaped_run(&plan.key(), &plan.question));
        match shaped {
            Some(said) => Ok(plan.as_said(said)),
            None => Err(Box::new(plan)),
        }
    }

    /// Asks about runs. Returns the DAGs of those that can be made now; the others are refused.
    pub(super) async fn ask(&mut self, unasked: Vec<Unasked>, report: &mut CreatedRuns) -> BTreeSet<String> {
        let mut ready = BTreeSet::new();
        for Unasked { definition, plan } in unasked {
            let dag_id = plan.outline.dag_id.clone();
            if self.was_asked(&plan) {
                // Another event has come meanwhile, say.
                report.refuse(&dag_id, NotCreated::Changed);
                report.is_more_due = true;
                continue;
            }
            match self.ask_about(definition, plan).await {
                Ok(plan) => {
                    self.shaped.push(plan);
                    ready.insert(dag_id);
                }
                Err(no_answer) => {
                    report.refuse(&dag_id, NotCreated::unanswered(no_answer, NotCreated::InstanceRules));
                }
            }
        }
        ready
    }

    async fn ask_about(&self, definition: Arc<Definition>, mut plan: Plan) -> Result<Plan, NoAnswer> {
        let Context { run_settings, service, timetables, .. } = self.cx;
        let (rules, secrets, timetables) =
            (run_settings.rules.clone(), service.secrets(), timetables.clone());
        let (key, question) = (plan.key(), plan.question.clone());
        let asked = || async move {
            let shaped = plan.run.apply_mutation_hook(rules.as_deref(), definition.dag()).await;
            shaped.map_err(|error| chain(&error))?;
            plan.deadlines.look_up(&secrets).await;
            plan.deadlines.ask(timetables.as_deref(), &plan.run).await;
            Ok(plan)
        };
        run_settings.questions.new_run(key, question, WHO, asked).await
    }

    /// Whether another run of the same DAG and partition was asked about.
    fn was_asked(&self, plan: &Plan) -> bool {
        self.shaped.iter().any(|shaped| shaped.key() == plan.key())
    }
}
