//! Groups of tasks.

use std::sync::Arc;

use super::expand::ExpandInput;
use super::graph::TaskIndex;

/// A group of one DAG.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupIndex(u32);

impl GroupIndex {
    /// The group around all.
    pub const ROOT: Self = Self(0);

    pub(super) fn at(position: usize) -> Self {
        Self(u32::try_from(position).unwrap_or(u32::MAX))
    }

    /// The place, for lists that run along the groups.
    pub fn position(self) -> usize {
        self.0 as usize
    }
}

/// A group of tasks and of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// Its id, with those of the groups around it; the group around all has none.
    pub group_id: Option<Arc<str>>,
    /// How to call it where people read.
    pub label: Arc<str>,
    /// What it is about, in a few words.
    pub tooltip: Arc<str>,
    /// Documentation, as Markdown.
    pub doc_md: Option<Arc<str>>,
    /// Its colour.
    pub ui_color: Arc<str>,
    /// The colour of its text.
    pub ui_fgcolor: Arc<str>,
    /// Whether the ids of what is inside begin with its own.
    pub prefix_group_id: bool,
    /// The group around it.
    pub parent: Option<GroupIndex>,
    /// What is inside, by name.
    pub children: Box<[GroupChild]>,
    /// The groups that this one as a whole waits for.
    pub upstream_groups: Box<[GroupIndex]>,
    /// The groups that wait for this one as a whole.
    pub downstream_groups: Box<[GroupIndex]>,
    /// The tasks that this one as a whole waits for.
    pub upstream_tasks: Box<[TaskIndex]>,
    /// The tasks that wait for this one as a whole.
    pub downstream_tasks: Box<[TaskIndex]>,
    /// What it is mapped over, if it is mapped.
    pub expand: Option<Box<ExpandInput>>,
}

/// What is inside a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupChild {
    /// A task.
    Task(TaskIndex),
    /// Another group.
    Group(GroupIndex),
}
