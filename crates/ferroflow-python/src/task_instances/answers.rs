//! What user code answers about task instances.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::InstanceRuleError;

/// How instances are to be.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Shaped {
    /// Those to be made, in the order of the question.
    pub added: Vec<Columns>,
    /// Those that are there and are to change, by id.
    pub there: HashMap<String, Columns>,
}

/// Columns of a task instance. Where nothing is said, they stay as they are; within, `None` is NULL.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Columns {
    /// How important it is, within the bounds of its column.
    #[serde(deserialize_with = "within_column")]
    pub priority_weight: i32,
    /// What a hook may change besides; nothing without a hook.
    pub hooked: Option<Hooked>,
}

/// What a hook may change besides the weight.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Hooked {
    /// Where it stands.
    pub state: Option<String>,
    /// How many tries may follow the first.
    pub max_tries: i32,
    /// The host it runs on.
    pub hostname: Option<String>,
    /// The user of the operating system whose scheduler made it.
    pub unixname: Option<String>,
    /// The pool it takes slots from.
    pub pool: String,
    /// How many.
    pub pool_slots: i32,
    /// The queue of workers.
    pub queue: Option<String>,
    /// The class of its operator.
    pub operator: Option<String>,
    /// The name that its operator goes by.
    pub custom_operator_name: Option<String>,
    /// The executor.
    pub executor: Option<String>,
    /// What the executor is told, pickled.
    pub executor_config: Vec<u8>,
    /// What its executor calls it.
    pub external_executor_id: Option<String>,
}

/// Reads an answer about so many new instances.
pub(super) fn read(dag_id: &str, added: usize, answer: Value) -> Result<Shaped, InstanceRuleError> {
    let nonsense = |problem: String| InstanceRuleError::Nonsense { dag_id: dag_id.to_owned(), problem };
    let shaped: Shaped = serde_json::from_value(answer).map_err(|error| nonsense(error.to_string()))?;
    if shaped.added.len() == added {
        Ok(shaped)
    } else {
        Err(nonsense(format!("{} instances instead of {added}", shaped.added.len())))
    }
}

/// The column holds 32 bits; what is beyond stands for its bound, as with Airflow's own rules.
fn within_column<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    let weight = serde_json::Number::deserialize(deserializer)?;
    let nearest = if weight.to_string().starts_with('-') { i32::MIN } else { i32::MAX };
    Ok(weight.as_i64().and_then(|weight| i32::try_from(weight).ok()).unwrap_or(nearest))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn weights_stay_within_their_column() {
        let read = |weight: Value| {
            let answer = json!({"added": [{"priority_weight": weight}], "there": {}});
            super::read("d", 1, answer).map(|shaped| shaped.added[0].clone())
        };
        let of = |priority_weight| Columns { priority_weight, hooked: None };
        assert_eq!(read(json!(7)).unwrap(), of(7));
        assert_eq!(read(json!(1_i64 << 40)).unwrap(), of(i32::MAX));
        assert_eq!(read(json!(-(1_i64 << 40))).unwrap(), of(i32::MIN));
        assert_eq!(read(json!(u64::MAX)).unwrap(), of(i32::MAX));
        assert_eq!(read(json!(-1e30)).unwrap(), of(i32::MIN));
        let problem = read(json!("heavy")).unwrap_err().to_string();
        assert!(problem.contains("invalid type"), "{problem}");
    }

    #[test]
    fn an_answer_is_as_long_as_its_question() {
        let answer = json!({"added": [], "there": {}});
        let problem = read("d", 1, answer).unwrap_err().to_string();
        assert!(problem.ends_with("0 instances instead of 1"), "{problem}");
    }
}
