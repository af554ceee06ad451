//! The deadlines of a DAG, which are rows of their own and keep their ids as long as they mean the same.

use serde_json::Value;
use uuid::Uuid;

use super::lexical::Node;
use crate::Json;

/// A deadline as a DAG file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlineDefinition {
    /// Its name, which is no part of what it means.
    pub name: Option<String>,
    /// From when the time is counted.
    pub reference: Json,
    /// How much time there is.
    pub interval: Json,
    /// What is called then.
    pub callback: Json,
}

/// A deadline that has a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDeadline {
    /// Its id.
    pub id: Uuid,
    /// What it was when it was stored.
    pub definition: DeadlineDefinition,
}

/// What becomes of deadlines that all mean what they meant before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reused {
    /// The rows whose name is another now.
    pub renamed: Vec<(Uuid, Option<String>)>,
}

/// Whether the deadlines of a DAG are those that it had: as many, and each of them pairs off with a stored one. If
/// a single one differs all are made anew, as one may refer to another.
pub fn reuse(stored_ids: &[Uuid], stored: &[StoredDeadline], new: &[DeadlineDefinition]) -> Option<Reused> {
    if stored_ids.len() != new.len() || stored.len() != stored_ids.len() {
        return None;
    }
    let mut left: Vec<&StoredDeadline> = stored.iter().collect();
    let mut renamed = Vec::new();
    for definition in new {
        let place = left.iter().position(|stored| stored.definition.means(definition))?;
        let stored = left.remove(place);
        if stored.definition.name != definition.name {
            renamed.push((stored.id, definition.name.clone()));
        }
    }
    Some(Reused { renamed })
}

/// The ids in the document that is stored; `None` if it has none, or deadlines in full, as Airflow 3.1 stored them.
pub fn stored_deadline_ids(data: &Json) -> Option<Vec<Uuid>> {
    let root = Node::read(data)?;
    let items = root.get("dag")?.get("deadline")?.items();
    let ids: Option<Vec<Uuid>> = items.iter().map(|item| Uuid::try_parse(item.as_text()?).ok()).collect();
    ids.filter(|ids| !ids.is_empty())
}

/// The column of the `dag` table and the rows, of a list of deadlines that is not empty.
pub(super) fn read_deadlines(fields: &Node<'_>) -> (Option<Json>, Vec<DeadlineDefinition>) {
    let Some(given) = fields.given("deadline") else { return (None, Vec::new()) };
    let definitions = given.items().iter().filter_map(read_definition).collect();
    (Some(given.to_json()), definitions)
}

fn read_definition(item: &Node<'_>) -> Option<DeadlineDefinition> {
    let fields = item.get("__var").unwrap_or(item);
    Some(DeadlineDefinition {
        name: fields.get("name").and_then(Node::as_text).map(str::to_owned),
        reference: fields.get("reference")?.to_json(),
        interval: fields.get("interval")?.to_json(),
        callback: fields.get("callback")?.to_json(),
    })
}

impl DeadlineDefinition {
    fn means(&self, other: &Self) -> bool {
        let is_same = |one: &Json, other: &Json| match (one.value(), other.value()) {
            (Ok(one), Ok(other)) => is_equal_in_python(&one, &other),
            _ => one == other,
        };
        is_same(&self.reference, &other.reference)
            && is_same(&self.interval, &other.interval)
            && is_same(&self.callback, &other.callback)
    }
}

/// Databases may give back `1` for `1.0`, and Python holds them equal.
fn is_equal_in_python(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_equal_in_python(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| is_equal_in_python(value, other)))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(name: &str, interval: Value) -> DeadlineDefinition {
        DeadlineDefinition {
            name: Some(name.to_owned()),
            reference: Json::from(json!({"reference_type": "x", "n": 1})),
            interval: Json::from(interval),
            callback: Json::from(json!({"path": "p"})),
        }
    }

    fn stored(id: u128, name: &str, interval: Value) -> StoredDeadline {
        StoredDeadline { id: Uuid::from_u128(id), definition: definition(name, interval) }
    }

    fn ids<const N: usize>(ids: [u128; N]) -> [Uuid; N] {
        ids.map(Uuid::from_u128)
    }

    #[test]
    fn deadlines_in_another_order_are_the_same() {
        let stored = [stored(1, "a", json!(1.0)), stored(2, "b", json!(2))];
        let new = [definition("b", json!(2.0)), definition("a", json!(1))];
        assert_eq!(reuse(&ids([1, 2]), &stored, &new), Some(Reused { renamed: vec![] }));
    }

    #[test]
    fn another_name_is_written_to_the_row() {
        let renamed = vec![(Uuid::from_u128(1), Some("z".to_owned()))];
        assert_eq!(
            reuse(&ids([1]), &[stored(1, "a", json!(1))], &[definition("z", json!(1))]),
            Some(Reused { renamed })
        );
    }

    #[test]
    fn each_stored_deadline_is_used_once() {
        let stored = [stored(1, "a", json!(1)), stored(2, "b", json!(2))];
        let new = [definition("a", json!(1)), definition("b", json!(1))];
        assert_eq!(reuse(&ids([1, 2]), &stored, &new), None);
    }

    #[test]
    fn one_that_changed_or_is_missing_makes_all_new() {
        let one = stored(1, "a", json!(1));
        assert_eq!(reuse(&ids([1]), std::slice::from_ref(&one), &[definition("a", json!(2))]), None);
        assert_eq!(reuse(&ids([1]), std::slice::from_ref(&one), &[]), None);
        assert_eq!(reuse(&ids([1]), &[], &[definition("a", json!(1))]), None);
    }

    #[test]
    fn ids_are_read_from_a_stored_document_and_deadlines_in_full_are_not_ids() {
        let id = Uuid::from_u128(7);
        let of = |deadline: Value| stored_deadline_ids(&Json::from(json!({"dag": {"deadline": deadline}})));
        assert_eq!(of(json!([id.to_string()])), Some(vec![id]));
        assert_eq!(of(json!([{"name": "x"}])), None);
        assert_eq!(of(json!(null)), None);
        assert_eq!(of(json!([])), None);
    }
}
