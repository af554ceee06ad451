//! What the configuration says about making runs.

use std::sync::Arc;

use fancy_regex::Regex;
use ferroflow_config::Settings;
use ferroflow_python::task_instances::InstanceRules;
use ferroflow_python::timetables::Timetables;

use crate::OperationError;

/// The names that Airflow itself gives to runs, which no configuration can forbid.
const OWN_NAMES: &str =
    r"^(?:manual|scheduled|asset_triggered)__(?:\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+00:00)$";

/// What is needed to make runs and to clear them.
#[derive(Clone)]
pub struct RunMaking {
    own_names: Arc<Regex>,
    /// `[scheduler] allowed_run_id_pattern`; none allows only Airflow's own names.
    allowed_names: Option<Arc<Regex>>,
    pattern: String,
    allow_double_dots: bool,
    /// `[core] rerun_with_latest_version`.
    pub(crate) rerun_with_latest_version: Option<bool>,
    /// The user of the operating system that makes runs.
    pub(crate) unixname: String,
    /// Who evaluates timetables that somebody wrote in Python.
    pub(crate) timetables: Option<Arc<Timetables>>,
    /// Weight rules and the mutation hook, which somebody wrote in Python.
    pub(crate) rules: Option<Arc<InstanceRules>>,
}

/// `[scheduler] allowed_run_id_pattern` is no pattern.
#[derive(Debug, thiserror::Error)]
#[error("[scheduler] allowed_run_id_pattern: {pattern:?} is no regular expression")]
pub struct BadRunIdPattern {
    /// What the configuration says.
    pub pattern: String,
    /// What is wrong with it.
    #[source]
    pub problem: Box<fancy_regex::Error>,
}

impl RunMaking {
    /// As the configuration says. Without `timetables`, runs with a logical date of DAGs that have a timetable of
    /// their own are refused.
    pub fn new(
        settings: &Settings,
        unixname: String,
        timetables: Option<Arc<Timetables>>,
    ) -> Result<Self, BadRunIdPattern> {
        let pattern = settings.scheduler.allowed_run_id_pattern.trim().to_owned();
        let compiled = |pattern: &str| {
            Regex::new(pattern).map(Arc::new).map_err(|problem| BadRunIdPattern {
                pattern: pattern.to_owned(),
                problem: Box::new(problem),
            })
        };
        // Python matches a pattern at the beginning of a text.
        let anchored = format!(r"\A(?:{pattern})");
        Ok(Self {
            own_names: compiled(OWN_NAMES)?,
            allowed_names: if pattern.is_empty() { None } else { Some(compiled(&anchored)?) },
            pattern,
            allow_double_dots: settings.core.allow_double_dot_in_ids,
            rerun_with_latest_version: settings.core.rerun_with_latest_version,
            unixname,
            timetables,
            rules: None,
        })
    }

    /// The same, with weight rules and the mutation hook. Without them, runs of DAGs with weight rules of their own are
    /// refused.
    #[must_use]
    pub fn with_rules(self, rules: Arc<InstanceRules>) -> Self {
        Self { rules: Some(rules), ..self }
    }

    /// Whether the configuration allows runs of this name.
    pub fn check_run_id(&self, run_id: &str) -> Result<(), OperationError> {
        if run_id.contains("..") && !self.allow_double_dots {
            let message = format!("The run_id '{run_id}' must not contain '..' to prevent path traversal");
            return Err(OperationError::value_error(message));
        }
        // A pattern that takes too long to match does not match.
        let is_match = |pattern: &Regex| pattern.is_match(run_id).unwrap_or(false);
        if is_match(&self.own_names) || self.allowed_names.as_deref().is_some_and(is_match) {
            return Ok(());
        }
        let pattern = &self.pattern;
        let message = format!(
            "The run_id provided '{run_id}' does not match regex pattern '{pattern}' or '{OWN_NAMES}'"
        );
        Err(OperationError::value_error(message))
    }
}
