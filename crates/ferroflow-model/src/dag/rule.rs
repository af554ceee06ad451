//! When a task may run, and how important it is.

use std::sync::Arc;

use crate::document::{Reader, Value};
use crate::state::words;

words! {
    /// What must have become of the tasks upstream before a task may run.
    TriggerRule, "trigger rule":
    /// All succeeded.
    AllSuccess = "all_success",
    /// All failed.
    AllFailed = "all_failed",
    /// All are done.
    AllDone = "all_done",
    /// All are done, and one succeeded.
    AllDoneMinOneSuccess = "all_done_min_one_success",
    /// All are done, and the setups succeeded: the rule of teardowns.
    AllDoneSetupSuccess = "all_done_setup_success",
    /// One succeeded.
    OneSuccess = "one_success",
    /// One failed.
    OneFailed = "one_failed",
    /// One is done.
    OneDone = "one_done",
    /// None failed.
    NoneFailed = "none_failed",
    /// None was skipped.
    NoneSkipped = "none_skipped",
    /// Whatever became of them.
    Always = "always",
    /// None failed, and one succeeded.
    NoneFailedMinOneSuccess = "none_failed_min_one_success",
    /// All were skipped.
    AllSkipped = "all_skipped",
}

/// How the priority of a task instance comes from the weights of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WeightRule {
    /// Its own weight and those of all tasks downstream.
    Downstream,
    /// Its own weight and those of all tasks upstream.
    Upstream,
    /// Its own weight.
    Absolute,
    /// What a custom class says; this is its import path.
    Custom(Arc<str>),
}

impl WeightRule {
    /// As documents spell it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Downstream => "downstream",
            Self::Upstream => "upstream",
            Self::Absolute => "absolute",
            Self::Custom(path) => path,
        }
    }

    /// Reads a word or an import path.
    pub(super) fn read<'v>(
        reader: &mut Reader<'v>,
        value: &'v Value<'v>,
        intern: impl FnOnce(&'v str) -> Arc<str>,
    ) -> Option<Self> {
        let text = reader.text(value)?;
        match text.strip_prefix("airflow.task.priority_strategy.").unwrap_or(text) {
            "downstream" | "_DownstreamPriorityWeightStrategy" => Some(Self::Downstream),
            "upstream" | "_UpstreamPriorityWeightStrategy" => Some(Self::Upstream),
            "absolute" | "_AbsolutePriorityWeightStrategy" => Some(Self::Absolute),
            _ if is_import_path(text) => Some(Self::Custom(intern(text))),
            _ => {
                reader.problem(format_args!(
                    "{text:?} is not a weight rule (known: downstream, upstream, absolute, or the import path \
                     of a class)"
                ));
                None
            }
        }
    }
}

/// A mapped task whose author gave an object has its `repr` in the document, which means nothing to anybody.
fn is_import_path(text: &str) -> bool {
    text.contains('.') && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::decode;

    fn weight_rule(text: &str) -> Result<WeightRule, String> {
        let text = format!("{text:?}");
        decode(&text, |reader, value| WeightRule::read(reader, value, Into::into))
            .map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_weight_rule_is_a_word_or_the_path_of_a_class() {
        assert_eq!(weight_rule("upstream"), Ok(WeightRule::Upstream));
        let absolute = "airflow.task.priority_strategy._AbsolutePriorityWeightStrategy";
        assert_eq!(weight_rule(absolute), Ok(WeightRule::Absolute));
        assert_eq!(weight_rule("my.Rule"), Ok(WeightRule::Custom("my.Rule".into())));
    }

    #[test]
    fn what_is_neither_a_word_nor_a_path_is_no_weight_rule() {
        for text in ["", "heavy", "<my.Rule object at 0x7fa2a7e3d790>"] {
            assert!(weight_rule(text).unwrap_err().contains("is not a weight rule"), "{text}");
        }
    }

    #[test]
    fn every_trigger_rule_reads_back() {
        for rule in TriggerRule::ALL {
            assert_eq!(rule.as_str().parse(), Ok(*rule));
        }
    }
}
