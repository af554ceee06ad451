//! Which run and which task instance: by the names that Airflow's tables, messages and log lines use.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::NOT_MAPPED;

/// A DAG run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    pub dag_id: String,
    pub run_id: String,
}

/// A task instance over all of its tries, each of which has an id of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskInstanceKey {
    pub dag_id: String,
    pub run_id: String,
    pub task_id: String,
    /// [`NOT_MAPPED`] for a task that is not mapped.
    pub map_index: i32,
}

impl TaskInstanceKey {
    pub fn run(&self) -> RunKey {
        RunKey { dag_id: self.dag_id.clone(), run_id: self.run_id.clone() }
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} of DAG {}", self.run_id, self.dag_id)
    }
}

impl fmt::Display for TaskInstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.task_id)?;
        if self.map_index != NOT_MAPPED {
            write!(f, "[{}]", self.map_index)?;
        }
        write!(f, " in run {} of DAG {}", self.run_id, self.dag_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_by_its_names() {
        let key = |map_index| TaskInstanceKey {
            dag_id: "d".to_owned(),
            run_id: "r".to_owned(),
            task_id: "t".to_owned(),
            map_index,
        };
        assert_eq!(key(NOT_MAPPED).to_string(), "task t in run r of DAG d");
        assert_eq!(key(3).to_string(), "task t[3] in run r of DAG d");
        assert_eq!(key(3).run().to_string(), "run r of DAG d");
    }
}
