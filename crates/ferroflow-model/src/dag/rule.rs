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
    /// What a class of somebody's own says; this is its import path.
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
