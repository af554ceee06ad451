//! What one instance waits for.

use jiff::Timestamp;

use super::explain::{PastUnmet, Unmet};
use super::instances::Cell;
use super::rule::{Judgement, judge, judge_setups};
use super::run::Run;
use crate::dag::{Flag, TaskIndex, TriggerRule};
use crate::id::NOT_MAPPED;
use crate::retry::{is_over, over_at};
use crate::state::TaskState;

/// What came of looking at an instance, leaving aside what only time decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// The state that it goes to without having run.
    pub(super) settles: Option<TaskState>,
    /// Whether nothing keeps it from running.
    pub(super) is_met: bool,
    /// Whether it is settled by what became of those upstream, and not only by the word of a branch.
    pub(super) by_upstream: bool,
}

impl Run {
    /// Looks at everything that an instance may wait for within its run and the one before, in the order: trigger
    /// rule, what it is mapped over, branches, the past. All are asked, and the last that settles it is right,
    /// except that nothing mapped over changes a failure.
    pub(super) fn verdict(&self, task: TaskIndex, map_index: i32, mut unmet: impl FnMut(Unmet)) -> Verdict {
        let Judgement { mut settles, mut is_met } = self.ask_rule(task, map_index, &mut unmet);
        if let Some((source, state, becomes)) = self.failed_to_map_over(task) {
            is_met = false;
            unmet(Unmet::MappedOver { task: source, state });
            if settles != Some(TaskState::UpstreamFailed) {
                settles = becomes.or(settles);
            }
        }
        let by_upstream = settles.is_some();
        if let Some(branch) = self.skipped_by(task, map_index) {
            is_met = false;
            unmet(Unmet::SkippedBy { task: branch });
            settles = Some(TaskState::Skipped);
        }
        if let Some(past) = self.unmet_past(task) {
            is_met = false;
            unmet(Unmet::Past(past));
        }
        Verdict { settles, is_met, by_upstream }
    }

    /// The first instant at which an instance has to wait for nothing but time no more, if that is to come.
    pub(super) fn blocked_until(&self, task: TaskIndex, cell: &Cell, now: Timestamp) -> Option<Timestamp> {
        let definition = &self.plan.dag()[task];
        // Of a mapped sensor it is not known whether it asks to be looked at again.
        let may_reschedule = definition.is(Flag::Reschedules) || cell.map_index >= 0;
        match cell.state {
            Some(TaskState::UpForRetry) => cell.due.filter(|due| !is_over(*due, now)).map(over_at),
            Some(TaskState::UpForReschedule) => cell.due.filter(|due| *due > now),
            None if definition.is(Flag::IsSensor) && may_reschedule => cell.due.filter(|due| *due > now),
            _ => None,
        }
    }

    /// The trigger rule. Before it, the setups further up are asked; after it, a teardown asks for what it cleans
    /// up after.
    fn ask_rule(&self, task: TaskIndex, map_index: i32, unmet: &mut impl FnMut(Unmet)) -> Judgement {
        let definition = &self.plan.dag()[task];
        let plan = self.plan.task(task);
        let rule = definition.trigger_rule;
        if plan.direct.tasks == 0 || rule == TriggerRule::Always {
            return Judgement { settles: None, is_met: true };
        }
        let mut outcome = Judgement { settles: None, is_met: true };
        if let Some(tally) = plan.setups {
            let setups = self.upstream(tally, task, map_index);
            outcome = judge_setups(&setups, map_index);
            if !outcome.is_met {
                unmet(Unmet::Setups { setups });
                if outcome.settles.is_some() {
                    return outcome;
                }
            }
        }
        let upstream = self.upstream(task.position(), task, map_index);
        let judgement = judge(rule, &upstream, map_index);
        outcome.settles = judgement.settles.or(outcome.settles);
        let scope =
            plan.scope.filter(|_| judgement.is_met).map(|tally| self.upstream(tally, task, map_index));
        if let Some(scope) = scope.filter(|scope| !scope.is_done()) {
            unmet(Unmet::TeardownScope { scope });
            outcome.is_met = false;
        } else if !judgement.is_met {
            unmet(Unmet::TriggerRule { rule, upstream });
            outcome.is_met = false;
        }
        outcome
    }

    /// One of the tasks whose results it is mapped over that ended without any, and what follows from all of them.
    fn failed_to_map_over(&self, task: TaskIndex) -> Option<(TaskIndex, TaskState, Option<TaskState>)> {
        let mut found: Option<(TaskIndex, TaskState, Option<TaskState>)> = None;
        for source in &self.plan.task(task).mapped_over {
            let state = self.tasks[source.position()].instances.unexpanded().and_then(|cell| cell.state);
            let becomes = match state {
                Some(TaskState::Failed | TaskState::UpstreamFailed) => Some(TaskState::UpstreamFailed),
                Some(TaskState::Skipped) => Some(TaskState::Skipped),
                Some(TaskState::Removed) => None,
                _ => continue,
            };
            let is_worse =
                found.is_none_or(|(.., worst)| worst != Some(TaskState::UpstreamFailed) && becomes.is_some());
            if is_worse {
                found = state.map(|state| (*source, state, becomes));
            }
        }
        found
    }

    /// The first task upstream that has decided to skip it.
    fn skipped_by(&self, task: TaskIndex, map_index: i32) -> Option<TaskIndex> {
        self.plan.task(task).skippers.iter().copied().find(|branch| {
            let index = if self.plan.dag()[*branch].is_mapped() { map_index } else { NOT_MAPPED };
            self.tasks[branch.position()].finished.done() > 0
                && self.skips.get(&(*branch, index)).is_some_and(|skips| skips.skips(task))
        })
    }

    fn unmet_past(&self, task: TaskIndex) -> Option<PastUnmet> {
        if !self.plan.task(task).depends_on_past {
            return None;
        }
        let (dag, past) = (self.plan.dag(), self.past.as_ref()?);
        let definition = &dag[task];
        let was_not_due = |start: Timestamp| past.logical_date.is_some_and(|date| date < start);
        if dag.catchup && definition.start_date.is_some_and(was_not_due) {
            return None;
        }
        let of = |task: TaskIndex| past.tasks.get(task.position()).copied().unwrap_or_default();
        let own = of(task);
        if own.instances == 0 {
            let is_first = definition.is(Flag::IgnoreFirstDependsOnPast) && !own.was_there_before;
            return (!is_first).then_some(PastUnmet::NotThere);
        }
        if own.unsuccessful > 0 {
            return Some(PastUnmet::Unsuccessful { instances: own.unsuccessful });
        }
        if !definition.is(Flag::WaitForDownstream) {
            return None;
        }
        let downstream = dag.graph().downstream(task).iter().find(|task| of(**task).unsuccessful > 0)?;
        Some(PastUnmet::Downstream { task: *downstream })
    }
}
