//! What trigger rules make of every small combination of outcomes, against the table of the rules as Airflow's
//! source has it, with its signs and subtractions.

use std::sync::Arc;

use ferroflow_model::dag::TriggerRule;
use ferroflow_model::readiness::{Counts, Facts, Instance, Judgement, Run, Upstream, judge, judge_setups};
use ferroflow_model::state::TaskState;

use crate::readiness::sketch::{ByName, Sketch, items};

const OUTCOMES: [Option<TaskState>; 6] = [
    None,
    Some(TaskState::Success),
    Some(TaskState::Skipped),
    Some(TaskState::Failed),
    Some(TaskState::UpstreamFailed),
    Some(TaskState::Removed),
];

/// The numbers of the table: `s`uccess, s`k`ipped, `f`ailed, `u`pstream failed, `r`emoved, `d`one, of all `n`, and of
/// setups those with `_s`.
struct Row {
    s: i64,
    k: i64,
    f: i64,
    u: i64,
    r: i64,
    d: i64,
    n: i64,
    n_s: i64,
    s_s: i64,
    k_s: i64,
    index: i64,
}

impl Row {
    fn of(upstream: &Upstream, map_index: i32) -> Self {
        let Counts { success, skipped, failed, upstream_failed, removed } = upstream.counts;
        Self {
            s: success.into(),
            k: skipped.into(),
            f: failed.into(),
            u: upstream_failed.into(),
            r: removed.into(),
            d: i64::from(success + skipped + failed + upstream_failed + removed),
            n: upstream.expected.into(),
            n_s: upstream.expected_setups.into(),
            s_s: upstream.setup_success.into(),
            k_s: upstream.setup_skipped.into(),
            index: map_index.into(),
        }
    }

    fn all_success_flag(&self) -> Option<TaskState> {
        if self.u != 0 || self.f != 0 {
            Some(TaskState::UpstreamFailed)
        } else if self.k != 0 {
            Some(TaskState::Skipped)
        } else if self.r != 0 && self.s != 0 && self.index > -1 && self.index >= self.s {
            Some(TaskState::Removed)
        } else {
            None
        }
    }

    fn flag(&self, rule: TriggerRule) -> Option<TaskState> {
        let Self { s, k, f, u, r, d, n, n_s, s_s, k_s, .. } = *self;
        let all_done = d >= n;
        let first = |flags: [(bool, TaskState); 3]| flags.into_iter().find(|flag| flag.0).map(|flag| flag.1);
        let never = (false, TaskState::Removed);
        let skipped = |condition| (condition, TaskState::Skipped);
        let upstream_failed = |condition| (condition, TaskState::UpstreamFailed);
        match rule {
            TriggerRule::AllSuccess => self.all_success_flag(),
            TriggerRule::AllFailed => first([skipped(s != 0 || k != 0), never, never]),
            TriggerRule::AllDoneMinOneSuccess => {
                first([skipped(k > 0), upstream_failed(s + f + u + r >= n - k && s == 0), never])
            }
            TriggerRule::AllDoneSetupSuccess => first([
                skipped(all_done && n_s != 0 && k_s >= n_s),
                upstream_failed(all_done && n_s != 0 && s_s == 0),
                never,
            ]),
            TriggerRule::OneSuccess => {
                first([skipped(all_done && d == k), upstream_failed(all_done && s == 0), never])
            }
            TriggerRule::OneFailed => first([skipped(all_done && f == 0 && u == 0), never, never]),
            TriggerRule::OneDone => first([skipped(all_done && f == 0 && s == 0), never, never]),
            TriggerRule::NoneFailed => first([upstream_failed(u != 0 || f != 0), never, never]),
            TriggerRule::NoneFailedMinOneSuccess => first([
                upstream_failed(u != 0 || f != 0),
                skipped(k == n),
                upstream_failed(all_done && s == 0),
            ]),
            TriggerRule::NoneSkipped => first([skipped(k != 0), never, never]),
            TriggerRule::AllSkipped => first([skipped(s != 0 || f != 0 || u != 0), never, never]),
            TriggerRule::AllDone | TriggerRule::Always => None,
        }
    }

    fn fails(&self, rule: TriggerRule) -> bool {
        let Self { s, k, f, u, r, d, n, n_s, s_s, .. } = *self;
        match rule {
            TriggerRule::AllSuccess => n - s - r > 0,
            TriggerRule::AllFailed => n - f - u - r > 0,
            TriggerRule::AllDone => d < n,
            TriggerRule::AllDoneMinOneSuccess => k > 0 || s + f + u < n - k - r || s == 0,
            TriggerRule::AllDoneSetupSuccess => d < n || (n_s != 0 && s_s == 0),
            TriggerRule::OneSuccess => s == 0,
            TriggerRule::OneFailed => f == 0 && u == 0,
            TriggerRule::OneDone => s + f == 0,
            TriggerRule::NoneFailed => n - s - k - r > 0,
            TriggerRule::NoneFailedMinOneSuccess => n - s - k - r > 0 || s == 0,
            TriggerRule::NoneSkipped => d < n || k > 0,
            TriggerRule::AllSkipped => n - k > 0,
            TriggerRule::Always => false,
        }
    }
}

fn for_all_small(mut check: impl FnMut(&Upstream, i32)) {
    for combination in 0..3_u32.pow(5) {
        let [success, skipped, failed, upstream_failed, removed] =
            [1, 3, 9, 27, 81].map(|place| combination / place % 3);
        let counts = Counts { success, skipped, failed, upstream_failed, removed };
        for (expected, expected_setups) in (0..=4).flat_map(|all| (0..=2).map(move |setups| (all, setups))) {
            for setup_success in 0..=success.min(expected_setups) {
                for setup_skipped in 0..=skipped.min(expected_setups) {
                    let upstream =
                        Upstream { expected, expected_setups, counts, setup_success, setup_skipped };
                    for map_index in -1..=2 {
                        check(&upstream, map_index);
                    }
                }
            }
        }
    }
}

#[test]
fn every_rule_judges_as_the_table_says() {
    for_all_small(|upstream, map_index| {
        let row = Row::of(upstream, map_index);
        for rule in TriggerRule::ALL {
            let told = Judgement { settles: row.flag(*rule), is_met: !row.fails(*rule) };
            assert_eq!(judge(*rule, upstream, map_index), told, "{rule} at {map_index} of {upstream:?}");
        }
    });
}

#[test]
fn setups_around_a_task_must_succeed_as_the_table_says() {
    for_all_small(|upstream, map_index| {
        let row = Row::of(upstream, map_index);
        let left = row.n - row.s - if row.index > -1 { row.r } else { 0 };
        let told = Judgement { settles: row.all_success_flag(), is_met: left <= 0 };
        assert_eq!(judge_setups(upstream, map_index), told, "at {map_index} of {upstream:?}");
    });
}

/// The rules at their boundaries, spelled out: what is upstream, the rule, and what follows.
#[test]
fn what_rules_are_for() {
    let upstream = |success, skipped, failed, expected| Upstream {
        expected,
        counts: Counts { success, skipped, failed, ..Counts::default() },
        ..Upstream::default()
    };
    let (skips, fails) = (Some(TaskState::Skipped), Some(TaskState::UpstreamFailed));
    for (rule, upstream, settles, is_met) in [
        (TriggerRule::AllSuccess, upstream(1, 0, 0, 2), None, false),
        (TriggerRule::AllSuccess, upstream(2, 0, 0, 2), None, true),
        (TriggerRule::AllSuccess, upstream(0, 1, 1, 3), fails, false),
        (TriggerRule::OneFailed, upstream(1, 0, 0, 2), None, false),
        (TriggerRule::OneFailed, upstream(0, 0, 1, 2), None, true),
        (TriggerRule::OneFailed, upstream(2, 0, 0, 2), skips, false),
        (TriggerRule::OneSuccess, upstream(0, 2, 0, 2), skips, false),
        (TriggerRule::OneSuccess, upstream(0, 1, 1, 2), fails, false),
        (TriggerRule::NoneFailedMinOneSuccess, upstream(0, 2, 0, 2), skips, false),
        (TriggerRule::NoneFailedMinOneSuccess, upstream(1, 1, 0, 2), None, true),
        (TriggerRule::AllDoneMinOneSuccess, upstream(1, 0, 1, 2), None, true),
        (TriggerRule::AllDoneMinOneSuccess, upstream(0, 0, 2, 2), fails, false),
        (TriggerRule::NoneSkipped, upstream(1, 0, 1, 2), None, true),
        (TriggerRule::AllSkipped, upstream(0, 1, 0, 2), None, false),
        (TriggerRule::Always, upstream(0, 0, 0, 2), None, true),
    ] {
        let judgement = judge(rule, &upstream, -1);
        assert_eq!(judgement, Judgement { settles, is_met }, "{rule} of {upstream:?}");
    }
}

#[test]
fn without_anything_upstream_every_rule_is_met() {
    for rule in TriggerRule::ALL {
        assert_eq!(Sketch::of(&format!("a : {rule}")).run().decided(), ["a scheduled"], "{rule}");
    }
}

/// With a task that takes no part upstream, the sources never run by themselves.
fn with_idle_sources(words: &str) -> Sketch {
    Sketch::of(&format!("gone; {words}")).with("gone", "end_date", 0.into())
}

#[test]
fn a_single_outcome_that_changes_a_judgement_is_noticed_by_whoever_waits() {
    for rule in TriggerRule::ALL {
        let words = format!("a < gone; b < gone; c < gone; w : {rule} < a, b, c");
        let sketch = with_idle_sources(&words);
        every_change_is_noticed(&sketch, &["a", "b", "c"]);
        let sketch = sketch.with("a", "is_setup", true.into()).with("b", "is_setup", true.into());
        every_change_is_noticed(&sketch, &["a", "b", "c"]);
    }
}

#[test]
fn so_it_is_by_mapped_instances_that_wait_for_mapped_ones() {
    for rule in TriggerRule::ALL {
        let sketch = with_idle_sources(&format!("m < gone; w : {rule} < m"));
        let sketch = sketch.mapped("m", items(3)).mapped("w", items(3));
        every_change_is_noticed(&sketch, &["m[0]", "m[1]", "m[2]"]);
        let sketch = with_idle_sources(&format!("s < gone; m < s; w : {rule} < m"))
            .with("s", "is_setup", true.into())
            .mapped("s", items(3))
            .mapped("w", items(2));
        every_change_is_noticed(&sketch, &["s[0]", "s[1]", "s[2]"]);
    }
}

/// From every state of the sources, one of them goes to every other: what a run decides that was examined before is
/// what one decides that was not.
fn every_change_is_noticed(sketch: &Sketch, sources: &[&str]) {
    let plan = sketch.plan();
    let load = |instances: &[Instance]| {
        Run::load(Arc::clone(&plan), Facts::default(), None, instances.iter().copied())
    };
    let beginning: Vec<Instance> = sketch.run().instances().collect();
    for combination in 0..OUTCOMES.len().pow(u32::try_from(sources.len()).unwrap()) {
        let outcomes = [1, 6, 36].map(|place| OUTCOMES[combination / place % 6]);
        let mut before = load(&beginning);
        for (source, outcome) in sources.iter().zip(outcomes) {
            before.go(source, outcome);
        }
        before.decide();
        for outcome in OUTCOMES {
            let mut stepwise = before.clone();
            stepwise.go(sources[0], outcome);
            let mut anew = load(&stepwise.instances().collect::<Vec<_>>());
            let change = (sources, outcomes, outcome);
            assert_eq!(stepwise.decide(), anew.decide(), "{change:?} in {sketch:?}");
        }
    }
}
