//! The executors, and which of them a task instance goes to.

use std::fmt;
use std::sync::Arc;

/// How the configuration names an executor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExecutorName {
    /// The short name.
    pub alias: Option<Arc<str>>,
    /// Where its class is imported from.
    pub module_path: Arc<str>,
    /// The team that it works for, or `None` for all.
    pub team: Option<Arc<str>>,
}

impl ExecutorName {
    /// What people call it.
    pub fn short(&self) -> &Arc<str> {
        self.alias.as_ref().unwrap_or(&self.module_path)
    }

    /// The name of its class.
    pub fn class(&self) -> &str {
        self.module_path.rsplit('.').next().unwrap_or(&self.module_path)
    }

    /// Whether a task that asks for this executor means it: by its alias, its class or the path of that.
    pub fn is_called(&self, name: &str) -> bool {
        self.alias.as_deref() == Some(name) || &*self.module_path == name || self.class() == name
    }
}

impl fmt::Display for ExecutorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

/// An executor and what it is busy with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executor {
    pub name: Arc<ExecutorName>,
    /// How much it takes at a time: its `parallelism`.
    pub slots: i64,
    /// How much it has at the moment: tasks, callbacks and tests of connections, queued or running.
    pub occupied: i64,
}

/// The executors of this scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executors {
    /// In the order of the configuration: the first is the default for all.
    pub list: Vec<Executor>,
    /// `[core] parallelism`: how much all of them together may have.
    pub parallelism: i64,
}

impl Executors {
    /// How much all of them have.
    pub(super) fn occupied(&self) -> i64 {
        self.list.iter().fold(0, |sum, executor| sum.saturating_add(executor.occupied))
    }

    /// The place in the list of the executor for a task instance of a team's DAG. One that it asks for by
    /// name must belong to the team or to all.
    pub(super) fn resolve(&self, wanted: Option<&str>, team: Option<&str>) -> Option<usize> {
        let mut names = self.list.iter().map(|executor| &executor.name);
        let Some(wanted) = wanted else {
            let of_the_team = names.position(|name| team.is_some() && name.team.as_deref() == team);
            return of_the_team.or((!self.list.is_empty()).then_some(0));
        };
        names.position(|name| name.is_called(wanted) && (name.team.is_none() || name.team.as_deref() == team))
    }
}
