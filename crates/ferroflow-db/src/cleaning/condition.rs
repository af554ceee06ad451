//! Which rows of a table are old.

use crate::cleaning::{KeepLast, Old, Table};
use crate::statement::Bind;

/// What is true of the row `base` if it is old.
pub(super) struct Condition {
    pub(super) text: String,
    pub(super) binds: Vec<Bind>,
}

impl Condition {
    pub(super) fn of(table: &Table, old: &Old) -> Self {
        let mut condition = Self {
            text: format!("base.{{name:{}}} < ?", table.recency),
            binds: vec![Bind::from(old.before)],
        };
        if !table.also.is_empty() {
            condition.and(table.also);
        }
        if let Some(keep) = table.keep_last {
            condition.and(&not_the_last(table, keep));
        }
        condition.of_dags(table, "", &old.dag_ids);
        condition.of_dags(table, "NOT ", &old.exclude_dag_ids);
        condition
    }

    pub(super) fn and(&mut self, more: &str) {
        self.text.push_str(" AND ");
        self.text.push_str(more);
    }

    fn of_dags(&mut self, table: &Table, not: &str, dag_ids: &[String]) {
        let Some(column) = table.dag_id.filter(|_| !dag_ids.is_empty()) else { return };
        let marks = vec!["?"; dag_ids.len()].join(", ");
        // Some know their DAG by another name, or only what belongs to it.
        self.and(&match table.name {
            "asset_event" => format!("base.source_dag_id {not}IN ({marks})"),
            "deadline" => {
                format!("base.dagrun_id IN (SELECT r.id FROM dag_run r WHERE r.dag_id {not}IN ({marks}))")
            }
            "task_reschedule" => {
                format!("base.ti_id IN (SELECT i.id FROM task_instance i WHERE i.dag_id {not}IN ({marks}))")
            }
            _ => format!("base.{{name:{column}}} {not}IN ({marks})"),
        });
        self.binds.extend(dag_ids.iter().map(|dag_id| Bind::from(dag_id.as_str())));
    }
}

/// A row is the last of its DAG if one that counts is as recent, and none more so.
fn not_the_last(table: &Table, keep: KeepLast) -> String {
    let (name, recency) = (table.name, table.recency);
    let counts = match keep {
        KeepLast::OfAll => "",
        KeepLast::NotManual => " AND l.run_type <> 'manual'",
    };
    let there_is = |comparison: &str| {
        format!(
            "EXISTS (SELECT 1 FROM {name} l WHERE l.dag_id = base.dag_id AND l.{recency} {comparison} \
             base.{recency}{counts})"
        )
    };
    format!("({} OR NOT {})", there_is(">"), there_is("="))
}
