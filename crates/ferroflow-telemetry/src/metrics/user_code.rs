//! What is counted of user code that a scheduler or a supervisor calls. Airflow has no such metrics: there it fails in the scheduler.

use metrics::counter;

/// Which user code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Weight rules and `task_instance_mutation_hook`.
    InstanceRules,
    /// Listeners.
    Listeners,
    /// Partition mappers and windows, and timetables that have mappers of their own.
    PartitionMappers,
}

/// It has failed, or was not asked because it had failed before.
pub fn failed(kind: Kind) {
    counter!("ferroflow.user_code.failures", "kind" => kind.name()).increment(1);
}

/// So many things that happened were not told to it, because it was too slow.
pub fn untold(kind: Kind, number: u64) {
    counter!("ferroflow.user_code.untold", "kind" => kind.name()).increment(number);
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::InstanceRules => "instance_rules",
            Self::Listeners => "listeners",
            Self::PartitionMappers => "partition_mappers",
        }
    }
}
