//! Into how many a mapped task, or a mapped group, becomes.

use std::collections::HashSet;
use std::sync::Arc;

use super::graph::TaskIndex;

/// What `expand` or `expand_kwargs` was called with. Of literal values only the number is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpandInput {
    /// `expand(a=…, b=…)`: one for each combination.
    DictOfLists(Vec<(Arc<str>, ExpandArgument)>),
    /// `expand_kwargs(…)`: one for each item.
    ListOfDicts {
        /// The list.
        argument: ExpandArgument,
        /// What stands among the items of a literal list.
        items: Vec<XComArg>,
    },
}

/// One argument of `expand`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpandArgument {
    /// A literal list or dict with this many items.
    Literal(u64),
    /// What a task pushes.
    XCom(XComArg),
    /// An argument of the mapped group around it. Nothing can be mapped over it.
    GroupArgument,
}

/// Something that a task pushes, or that is made of such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XComArg {
    /// What a task pushes under a key.
    Plain {
        /// The task.
        task: TaskIndex,
        /// The key.
        key: Arc<str>,
    },
    /// Each item of it, changed.
    Map(Box<XComArg>),
    /// Item by item, side by side.
    Zip {
        /// Of these.
        args: Vec<XComArg>,
        /// Whether the shorter ones are filled up.
        fills: bool,
    },
    /// One after the other.
    Concat(Vec<XComArg>),
}

impl ExpandInput {
    /// How many there will be. `length` says how many items a task has pushed, if that is known yet. With one
    /// that always answers `None`, the number is what the document alone can tell.
    pub fn length(&self, mut length: impl FnMut(TaskIndex) -> Option<u64>) -> Option<u64> {
        match self {
            Self::DictOfLists(arguments) if arguments.is_empty() => Some(0),
            Self::DictOfLists(arguments) => arguments.iter().try_fold(1_u64, |total, (_, argument)| {
                Some(total.saturating_mul(argument.length(&mut length)?))
            }),
            Self::ListOfDicts { argument, .. } => argument.length(&mut length),
        }
    }

    /// The tasks whose results decide how many there will be, in the order of the document.
    pub fn dependencies(&self) -> Vec<TaskIndex> {
        let mut tasks = Vec::new();
        let mut seen = HashSet::new();
        let mut collect = |task| {
            if seen.insert(task) {
                tasks.push(task);
            }
        };
        match self {
            Self::DictOfLists(arguments) => {
                for (_, argument) in arguments {
                    argument.for_each_task(&mut collect);
                }
            }
            Self::ListOfDicts { argument, items } => {
                argument.for_each_task(&mut collect);
                for item in items {
                    item.for_each_task(&mut collect);
                }
            }
        }
        tasks
    }
}

impl ExpandArgument {
    fn length(&self, length: &mut impl FnMut(TaskIndex) -> Option<u64>) -> Option<u64> {
        match self {
            Self::Literal(items) => Some(*items),
            Self::XCom(arg) => arg.length(length),
            Self::GroupArgument => None,
        }
    }

    fn for_each_task(&self, visit: &mut impl FnMut(TaskIndex)) {
        if let Self::XCom(arg) = self {
            arg.for_each_task(visit);
        }
    }
}

impl XComArg {
    fn length(&self, length: &mut impl FnMut(TaskIndex) -> Option<u64>) -> Option<u64> {
        match self {
            Self::Plain { task, .. } => length(*task),
            Self::Map(arg) => arg.length(length),
            Self::Zip { args, fills } => {
                let lengths = lengths(args, length)?;
                if *fills { lengths.into_iter().max() } else { lengths.into_iter().min() }
            }
            Self::Concat(args) => Some(lengths(args, length)?.into_iter().fold(0, u64::saturating_add)),
        }
    }

    fn for_each_task(&self, visit: &mut impl FnMut(TaskIndex)) {
        match self {
            Self::Plain { task, .. } => visit(*task),
            Self::Map(arg) => arg.for_each_task(visit),
            Self::Zip { args, .. } | Self::Concat(args) => {
                for arg in args {
                    arg.for_each_task(visit);
                }
            }
        }
    }
}

fn lengths(args: &[XComArg], length: &mut impl FnMut(TaskIndex) -> Option<u64>) -> Option<Vec<u64>> {
    args.iter().map(|arg| arg.length(length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(task: usize) -> XComArg {
        XComArg::Plain { task: TaskIndex::at(task), key: "return_value".into() }
    }

    fn dict_of_lists(arguments: Vec<ExpandArgument>) -> ExpandInput {
        ExpandInput::DictOfLists(arguments.into_iter().map(|argument| ("a".into(), argument)).collect())
    }

    /// Task n pushed n items.
    fn length(input: &ExpandInput) -> Option<u64> {
        input.length(|task| u64::try_from(task.position()).ok())
    }

    #[test]
    fn arguments_are_combined() {
        let literal = ExpandArgument::Literal;
        assert_eq!(length(&dict_of_lists(vec![])), Some(0));
        assert_eq!(length(&dict_of_lists(vec![literal(3), literal(4)])), Some(12));
        let with_task = dict_of_lists(vec![literal(3), ExpandArgument::XCom(plain(5))]);
        assert_eq!(length(&with_task), Some(15));
        assert_eq!(with_task.length(|_| None), None);
        assert_eq!(length(&dict_of_lists(vec![ExpandArgument::GroupArgument])), None);
    }

    #[test]
    fn results_of_tasks_can_be_combined_before_that() {
        let zip = |fills| XComArg::Zip { args: vec![plain(2), XComArg::Map(Box::new(plain(7)))], fills };
        let of =
            |arg| length(&ExpandInput::ListOfDicts { argument: ExpandArgument::XCom(arg), items: vec![] });
        assert_eq!(of(zip(false)), Some(2));
        assert_eq!(of(zip(true)), Some(7));
        assert_eq!(of(XComArg::Concat(vec![zip(true), plain(1)])), Some(8));
    }

    #[test]
    fn dependencies_are_there_once_and_in_order() {
        let input = ExpandInput::ListOfDicts {
            argument: ExpandArgument::Literal(2),
            items: vec![plain(4), XComArg::Concat(vec![plain(1), plain(4)])],
        };
        assert_eq!(input.dependencies(), [TaskIndex::at(4), TaskIndex::at(1)]);
        assert_eq!(length(&input), Some(2));
    }
}
