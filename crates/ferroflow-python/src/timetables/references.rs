//! Custom deadline references.

use std::collections::BTreeSet;

use ferroflow_model::Json;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Timetables;
use super::answers::Instant;
use crate::asking::{NoAnswer, Subject};
use crate::helper::HelperError;
use crate::quarantine::ASKED_AGAIN;

/// A run that is to be made, as a reference may look at it.
#[derive(Clone, Debug)]
pub struct RunToBe {
    /// The version of its DAG: its id, as text.
    pub version: String,
    /// The DAG
    pub dag_id: String,
    /// and the run.
    pub run_id: String,
    /// The fields that `DagRun` is made of.
    pub fields: Value,
}

/// Why a deadline reference has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// It fails, or no plugin lists its class.
    #[error("the deadline reference {class} failed")]
    Failed {
        /// The import path of the class.
        class: String,
        /// How.
        #[source]
        source: HelperError,
    },
    /// What it answered makes no sense.
    #[error("the deadline reference {class} gave an answer of the wrong type: {problem}")]
    Nonsense {
        /// The import path of the class.
        class: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It hung or crashed a short while ago.
    #[error("the deadline reference {class} failed: {last}{}{until}", ASKED_AGAIN)]
    InQuarantine {
        /// The import path of the class.
        class: String,
        /// When it is asked again.
        until: Timestamp,
        /// What happened.
        last: String,
    },
}

impl Timetables {
    /// From when a deadline of a run is counted; `None` if the run has no such deadline.
    pub async fn deadline_base(
        &self,
        class: &str,
        reference: &Json,
        run: &RunToBe,
    ) -> Result<Option<Timestamp>, ReferenceError> {
        let params = json!({
            "reference": reference.value().unwrap_or_default(),
            "version": run.version,
            "run": {"dag_id": run.dag_id, "run_id": run.run_id, "new": run.fields},
        });
        let class = class.to_owned();
        let who = format!("{} {}", run.dag_id, reference.text());
        // A reference without an answer gives no deadline: one that hangs may not cost others of the class theirs.
        let classes = BTreeSet::from([class.clone()]);
        let subject = Subject { who: &who, classes, is_asked_again: false };
        let answer = self.asking.call(&subject, "deadline.base", params).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(NoAnswer::Failed(source)) => return Err(ReferenceError::Failed { class, source }),
            Err(NoAnswer::LeftAlone(left)) => {
                return Err(ReferenceError::InQuarantine { class, until: left.until, last: left.last });
            }
        };
        let at: Option<Instant> = serde_json::from_value(answer)
            .map_err(|problem| ReferenceError::Nonsense { class, problem: problem.to_string() })?;
        Ok(at.map(|at| at.0))
    }
}
