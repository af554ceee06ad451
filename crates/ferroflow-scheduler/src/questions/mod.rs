//! What user code is asked, beside the loop.
//!
//! User code (custom timetables, partition mappers, weight rules, the mutation hook, deadline references, secrets
//! backends) takes as long as it takes, and a scheduler's loop waits for none of it: the question goes out, its
//! step goes on with the others, and the answer comes back as an event that has the step done again. An answer is used
//! only for exactly what was asked, and not when it is old; else it is asked again.
//!
//! A run in the foreground has no others beside it, and waits for the answers.

mod desk;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ferroflow_db::task_instance::TaskInstance;
use ferroflow_db::task_instance::mutation::MutableFields;
use ferroflow_model::timetable::{Restriction, RunInfo};
use ferroflow_operations::dag_run::create::NewRun;
use ferroflow_python::task_instances::Occasion;
use ferroflow_python::timetables::{AwaitedPartition, AwaitedPartitions, Described};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use uuid::Uuid;

use crate::active_runs::RunKey;
use crate::create_runs::Plan;
pub(crate) use desk::Desk;

/// What a timetable says of the time is true for a moment.
const OF_THE_MOMENT: Duration = Duration::from_secs(10);

/// What was said of rows that are to be written may wait for others to be asked.
const OF_ROWS: Duration = Duration::from_mins(1);

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// It is asked, and has not answered yet: who.
    #[error("{0} is asked, and has not answered yet")]
    Awaited(String),
    /// It has failed: why.
    #[error("{0}")]
    Failed(String),
}

/// The step that is done again, since there is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// Runs that are due may be made.
    Create,
    /// A run goes on.
    Run(RunKey),
}

/// What was asked, by whom it is waited for.
#[derive(Clone, Default)]
pub struct Questions(Arc<Inner>);

struct Inner {
    /// Where answers are announced; none where they are waited for.
    told: Mutex<Option<UnboundedSender<Answered>>>,
    hook: Desk<(), (), bool>,
    described: Desk<String, (), Arc<Described>>,
    due: Desk<String, DueQuestion, Due>,
    partitions: Desk<(String, usize), PartitionsQuestion, AwaitedPartitions>,
    new_runs: Desk<NewRunKey, NewRunQuestion, Plan>,
    instances: Desk<RunKey, InstancesQuestion, ShapedInstances>,
}

/// What a timetable is asked about a run: how it is called, if it is not there already, and which one follows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DueQuestion {
    pub(crate) timetable: String,
    pub(crate) about: RunInfo,
    pub(crate) restriction: Restriction,
    pub(crate) is_there: bool,
}

/// What it says.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) run_id: String,
    pub(crate) next: Option<RunInfo>,
}

/// The key of a partition, and the assets that have sent something for it.
pub(crate) type Waiting = (String, Vec<(String, String)>);

/// What partitions of a DAG wait for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PartitionsQuestion {
    pub(crate) timetable: String,
    pub(crate) waiting: Vec<Waiting>,
}

/// What is known of them, in the order of the question.
pub(crate) struct KnownPartitions {
    pub(crate) fingerprint: Value,
    pub(crate) partitions: Vec<Option<AwaitedPartition>>,
}

impl KnownPartitions {
    fn all(said: AwaitedPartitions) -> Self {
        let partitions = said.partitions.into_iter().map(Some).collect();
        Self { fingerprint: said.fingerprint, partitions }
    }

    /// What was said before of some of them.
    fn of(question: &PartitionsQuestion, before: PartitionsQuestion, said: AwaitedPartitions) -> Self {
        let mut known: HashMap<Waiting, AwaitedPartition> =
            before.waiting.into_iter().zip(said.partitions).collect();
        let partitions = question.waiting.iter().map(|waiting| known.remove(waiting)).collect();
        Self { fingerprint: said.fingerprint, partitions }
    }
}

/// A DAG, and the partition that its run is for.
pub(crate) type NewRunKey = (String, Option<String>);

/// How a new run is to be. What is of the moment is not in it: a question that is another one in every pass has no answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewRunQuestion {
    pub(crate) dag_hash: String,
    pub(crate) version: Uuid,
    pub(crate) run: NewRun,
}

/// How instances of a run are to be: those to be made, and those that are there. A version of a DAG that has no instances
/// yet may be written anew, so its hash belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InstancesQuestion {
    pub(crate) version: Uuid,
    pub(crate) dag_hash: String,
    pub(crate) occasion: Occasion,
    pub(crate) made: BTreeSet<(String, i32, Option<&'static str>)>,
    pub(crate) there: BTreeSet<(Uuid, i32)>,
}

/// Instances to be made, and what changes in others.
pub(crate) type ShapedInstances = (Vec<TaskInstance>, Vec<(Uuid, MutableFields)>);

impl Default for Inner {
    fn default() -> Self {
        Self {
            told: Mutex::default(),
            hook: Desk::new(OF_ROWS),
            described: Desk::new(OF_ROWS),
            due: Desk::new(OF_THE_MOMENT),
            partitions: Desk::new(OF_THE_MOMENT).using_the_last(),
            new_runs: Desk::new(OF_ROWS),
            instances: Desk::new(OF_ROWS),
        }
    }
}

impl Questions {
    /// From now on answers are not waited for, but announced to the receiver.
    pub(crate) fn answered_later(&self) -> UnboundedReceiver<Answered> {
        let (sender, receiver) = unbounded_channel();
        *self.0.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }

    /// How many have no answer yet.
    pub fn unanswered(&self) -> usize {
        let inner = &self.0;
        let of_runs = inner.new_runs.unanswered() + inner.instances.unanswered();
        let of_timetables =
            inner.due.unanswered() + inner.described.unanswered() + inner.partitions.unanswered();
        inner.hook.unanswered() + of_timetables + of_runs
    }

    /// Whether there is a mutation hook.
    pub(crate) async fn hook<F>(&self, ask: impl FnOnce() -> F + Send) -> Result<bool, NoAnswer>
    where
        F: Future<Output = Result<bool, String>> + Send + 'static,
    {
        let who = "task_instance_mutation_hook (whether there is one)";
        self.0.hook.ask(self.told(), (), (), Answered::Create, who, ask).await
    }

    /// A timetable in words, by its text.
    pub(crate) async fn described<F>(
        &self,
        timetable: &str,
        who: &str,
        ask: impl FnOnce() -> F + Send,
    ) -> Result<Arc<Described>, NoAnswer>
    where
        F: Future<Output = Result<Arc<Described>, String>> + Send + 'static,
    {
        self.0.described.ask(self.told(), timetable.to_owned(), (), Answered::Create, who, ask).await
    }

    /// What a timetable says of a run that is due.
    pub(crate) async fn due<F>(
        &self,
        dag_id: &str,
        question: DueQuestion,
        who: &str,
        ask: impl FnOnce() -> F + Send,
    ) -> Result<Due, NoAnswer>
    where
        F: Future<Output = Result<Due, String>> + Send + 'static,
    {
        self.0.due.ask(self.told(), dag_id.to_owned(), question, Answered::Create, who, ask).await
    }

    /// What partitions wait for, by their DAG and page. While new ones are asked about, what was said of others is still
    /// known: however many come, none waits for those after it.
    pub(crate) async fn partitions<F>(
        &self,
        key: (String, usize),
        question: PartitionsQuestion,
        who: &str,
        ask: impl FnOnce() -> F + Send,
    ) -> (Option<KnownPartitions>, Option<NoAnswer>)
    where
        F: Future<Output = Result<AwaitedPartitions, String>> + Send + 'static,
    {
        let desk = &self.0.partitions;
        let asked = desk.ask(self.told(), key.clone(), question.clone(), Answered::Create, who, ask).await;
        match asked {
            Ok(answer) => (Some(KnownPartitions::all(answer)), None),
            Err(NoAnswer::Awaited(who)) => {
                let last = desk.last(&key).filter(|(before, _)| before.timetable == question.timetable);
                let known = last.map(|(before, said)| KnownPartitions::of(&question, before, said));
                (known, Some(NoAnswer::Awaited(who)))
            }
            Err(no_answer) => (None, Some(no_answer)),
        }
    }

    /// How a new run is to be.
    pub(crate) async fn new_run<F>(
        &self,
        key: NewRunKey,
        question: NewRunQuestion,
        who: &str,
        ask: impl FnOnce() -> F + Send,
    ) -> Result<Plan, NoAnswer>
    where
        F: Future<Output = Result<Plan, String>> + Send + 'static,
    {
        self.0.new_runs.ask(self.told(), key, question, Answered::Create, who, ask).await
    }

    /// How a new run is to be, if that was asked and answered.
    pub(crate) fn shaped_run(&self, key: &NewRunKey, question: &NewRunQuestion) -> Option<Plan> {
        self.0.new_runs.answer(key, question)
    }

    /// Why a timetable will say nothing of the run that is due for a moment.
    pub(crate) fn silence_of_timetable(&self, dag_id: &str) -> Option<NoAnswer> {
        self.0.due.silence(&dag_id.to_owned())
    }

    /// Why there will be no answer about a new run for a moment.
    pub(crate) fn silence_about_run(&self, key: &NewRunKey) -> Option<NoAnswer> {
        self.0.new_runs.silence(key)
    }

    /// How instances of a run are to be. The answer is used once.
    pub(crate) async fn instances<F>(
        &self,
        run: &RunKey,
        question: InstancesQuestion,
        who: &str,
        ask: impl FnOnce() -> F + Send,
    ) -> Result<ShapedInstances, NoAnswer>
    where
        F: Future<Output = Result<ShapedInstances, String>> + Send + 'static,
    {
        let desk = &self.0.instances;
        let shaped = desk.ask(self.told(), run.clone(), question, Answered::Run(run.clone()), who, ask).await;
        if shaped.is_ok() {
            desk.forget(run);
        }
        shaped
    }

    /// A run of a DAG is made, or its schedule has moved on: what was said of it has been used.
    pub(crate) fn used(&self, dag_id: &str, partition_key: Option<&str>) {
        self.0.due.forget(&dag_id.to_owned());
        self.0.new_runs.forget(&(dag_id.to_owned(), partition_key.map(str::to_owned)));
    }

    fn told(&self) -> Option<UnboundedSender<Answered>> {
        self.0.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_model::timetable::PartitionDate;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_partition_waits_for_no_answer_about_those_that_came_later() {
        let questions = Questions::default();
        let mut tracked = questions.answered_later();
        let waiting = |keys: &[&str]| PartitionsQuestion {
            timetable: "timetable".to_owned(),
            waiting: keys.iter().map(|key| ((*key).to_owned(), Vec::new())).collect(),
        };
        let key = || ("dag".to_owned(), 0);
        let said = AwaitedPartition { assets: Vec::new(), date: Ok(PartitionDate::NotATime) };
        let answer = AwaitedPartitions { fingerprint: json!({}), partitions: vec![said] };
        let at_once = || std::future::ready(Ok(answer));
        let (known, _) = questions.partitions(key(), waiting(&["old"]), "who", at_once).await;
        assert!(known.is_none());
        tracked.recv().await;
        for newest in ["new", "newer"] {
            let never = std::future::pending;
            let (known, no_answer) =
                questions.partitions(key(), waiting(&["old", newest]), "who", never).await;
            let is_known: Vec<bool> = known.unwrap().partitions.iter().map(Option::is_some).collect();
            assert_eq!(is_known, [true, false]);
            assert_eq!(no_answer, Some(NoAnswer::Awaited("who".to_owned())));
        }
        assert_eq!(questions.unanswered(), 1);
    }
}
