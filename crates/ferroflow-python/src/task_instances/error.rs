//! Why user code has no answer about task instances, for the author of a DAG or the owner of a site.

use jiff::Timestamp;

use crate::helper::HelperError;
use crate::quarantine::ASKED_AGAIN;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum InstanceRuleError {
    /// It is not known whether there is a hook.
    #[error("whether there is a task_instance_mutation_hook could not be asked")]
    Unknown {
        /// Why.
        #[source]
        source: HelperError,
    },
    /// A weight rule or the hook failed.
    #[error("a weight rule or task_instance_mutation_hook failed for DAG {dag_id}")]
    Failed {
        /// The DAG.
        dag_id: String,
        /// How.
        #[source]
        source: HelperError,
    },
    /// What they left makes no sense.
    #[error(
        "a weight rule or task_instance_mutation_hook left a bad task instance of DAG {dag_id}: {problem}"
    )]
    Nonsense {
        /// The DAG.
        dag_id: String,
        /// What is wrong.
        problem: String,
    },
    /// They hung or crashed a short while ago.
    #[error(
        "a weight rule or task_instance_mutation_hook failed for DAG {dag_id}: {last}{}{until}",
        ASKED_AGAIN
    )]
    InQuarantine {
        /// The DAG that they were asked for then: another one, maybe.
        dag_id: String,
        /// When they are asked again.
        until: Timestamp,
        /// What happened.
        last: String,
    },
    /// There is no Python here.
    #[error("DAG {dag_id} has the weight rule {class}, and there is no Python to ask it")]
    NoPython {
        /// The DAG.
        dag_id: String,
        /// The rule.
        class: String,
    },
}
