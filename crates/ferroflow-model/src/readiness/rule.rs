//! Trigger rules.

use super::counts::{Counts, Upstream};
use crate::dag::TriggerRule;
use crate::state::TaskState;

/// What a rule makes of an instance. It may be allowed to run and be settled at the same time: an instance that
/// is to be removed waits for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The state that the instance goes to without having run.
    pub settles: Option<TaskState>,
    /// Whether it may run.
    pub is_met: bool,
}

/// What a trigger rule says about the instance with this map index. An instance is settled as soon as its fate
/// is certain, without waiting for the rest of what is upstream.
pub fn judge(rule: TriggerRule, upstream: &Upstream, map_index: i32) -> Judgement {
    use TaskState::{Skipped, UpstreamFailed};
    let Counts { success, skipped, failed, upstream_failed, removed } = upstream.counts;
    let (expected, done) = (upstream.expected, upstream.counts.done());
    let all_done = upstream.is_done();
    let any_failed = failed > 0 || upstream_failed > 0;
    let (settles, is_met) = match rule {
        TriggerRule::Always => (None, true),
        TriggerRule::AllSuccess => (settled_by_success(upstream, map_index), success + removed >= expected),
        TriggerRule::AllFailed => {
            ((success > 0 || skipped > 0).then_some(Skipped), failed + upstream_failed + removed >= expected)
        }
        TriggerRule::AllDone => (None, all_done),
        TriggerRule::AllDoneMinOneSuccess => (
            if skipped > 0 { Some(Skipped) } else { (all_done && success == 0).then_some(UpstreamFailed) },
            skipped == 0 && all_done && success > 0,
        ),
        TriggerRule::AllDoneSetupSuccess => {
            let (setups, succeeded) = (upstream.expected_setups, upstream.setup_success);
            let settles = match setups {
                0 => None,
                _ if !all_done => None,
                _ if upstream.setup_skipped >= setups => Some(Skipped),
                _ => (succeeded == 0).then_some(UpstreamFailed),
            };
            (settles, all_done && (setups == 0 || succeeded > 0))
        }
        TriggerRule::OneSuccess => (
            match (all_done, done == skipped) {
                (true, true) => Some(Skipped),
                (true, false) => (success == 0).then_some(UpstreamFailed),
                (false, _) => None,
            },
            success > 0,
        ),
        TriggerRule::OneFailed => ((all_done && !any_failed).then_some(Skipped), any_failed),
        TriggerRule::OneDone => {
            let one_is_done = success > 0 || failed > 0;
            ((all_done && !one_is_done).then_some(Skipped), one_is_done)
        }
        TriggerRule::NoneFailed => {
            (any_failed.then_some(UpstreamFailed), success + skipped + removed >= expected)
        }
        TriggerRule::NoneFailedMinOneSuccess => (
            if any_failed {
                Some(UpstreamFailed)
            } else if skipped == expected {
                Some(Skipped)
            } else {
                (all_done && success == 0).then_some(UpstreamFailed)
            },
            success + skipped + removed >= expected && success > 0,
        ),
        TriggerRule::NoneSkipped => ((skipped > 0).then_some(Skipped), all_done && skipped == 0),
        TriggerRule::AllSkipped => ((success > 0 || any_failed).then_some(Skipped), skipped >= expected),
    };
    Judgement { settles, is_met }
}

/// What the setups around an instance say about it, before its own rule is asked.
pub fn judge_setups(setups: &Upstream, map_index: i32) -> Judgement {
    let Counts { success, removed, .. } = setups.counts;
    let excused = if map_index >= 0 { removed } else { 0 };
    Judgement { settles: settled_by_success(setups, map_index), is_met: success + excused >= setups.expected }
}

/// Where all must succeed, one that did not settles it. Beyond the indexes that are left upstream, there is
/// nothing left to do.
fn settled_by_success(upstream: &Upstream, map_index: i32) -> Option<TaskState> {
    let Counts { success, skipped, failed, upstream_failed, removed } = upstream.counts;
    if failed > 0 || upstream_failed > 0 {
        Some(TaskState::UpstreamFailed)
    } else if skipped > 0 {
        Some(TaskState::Skipped)
    } else {
        let is_beyond = u32::try_from(map_index).is_ok_and(|index| index >= success);
        (removed > 0 && success > 0 && is_beyond).then_some(TaskState::Removed)
    }
}
