//! The executors, and which of them a task instance goes to.

use std::sync::Arc;

/// An executor and what it is busy with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executor {
    /// The short name that the configuration gives it.
    pub alias: Option<Arc<str>>,
    /// Where its class is imported from.
    pub module_path: Arc<str>,
    /// The team that it works for, or `None` for all.
    pub team: Option<Arc<str>>,
    /// How much it takes at a time: its `parallelism`.
    pub slots: i64,
    /// How much it has at the moment: tasks, callbacks and tests of connections, queued or running.
    pub occupied: i64,
}

impl Executor {
    /// What people call it.
    pub fn name(&self) -> &Arc<str> {
        self.alias.as_ref().unwrap_or(&self.module_path)
    }

    fn is_called(&self, name: &str) -> bool {
        let class = self.module_path.rsplit('.').next();
        self.alias.as_deref() == Some(name) || &*self.module_path == name || class == Some(name)
    }
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
        let Some(name) = wanted else {
            let of_the_team = self.list.iter().position(|one| team.is_some() && one.team.as_deref() == team);
            return of_the_team.or((!self.list.is_empty()).then_some(0));
        };
        self.list
            .iter()
            .position(|one| one.is_called(name) && (one.team.is_none() || one.team.as_deref() == team))
    }
}
