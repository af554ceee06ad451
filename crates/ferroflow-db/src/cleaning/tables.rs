//! The tables that are cleaned, and what cleaning needs to know of each: Airflow's, in an order in which rows go before those that
//! they refer to.

use std::collections::BTreeSet;

/// A table that is cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The column that says how old a row is.
    pub recency: &'static str,
    /// The column that names a DAG.
    pub dag_id: Option<&'static str>,
    /// Which rows stay however old they are.
    pub keep_last: Option<KeepLast>,
    /// The tables that are cleaned before, since their rows would go with those of this one.
    pub(super) dependents: &'static [&'static str],
    /// What identifies a row.
    pub(super) key: &'static [(&'static str, KeyKind)],
    /// What else must be so for a row to go.
    pub(super) also: &'static str,
}

/// The latest rows of each DAG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepLast {
    /// Of all,
    OfAll,
    /// or of those that people did not ask for.
    NotManual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    Number,
    Text,
    Uuid,
}

const NUMBER: &[(&str, KeyKind)] = &[("id", KeyKind::Number)];
const UUID: &[(&str, KeyKind)] = &[("id", KeyKind::Uuid)];
const OF_XCOM: &[(&str, KeyKind)] = &[
    ("dag_run_id", KeyKind::Number),
    ("task_id", KeyKind::Text),
    ("map_index", KeyKind::Number),
    ("key", KeyKind::Text),
];

const fn table(name: &'static str, recency: &'static str, key: &'static [(&'static str, KeyKind)]) -> Table {
    Table { name, recency, dag_id: None, keep_last: None, dependents: &[], key, also: "" }
}

const fn of_dags(
    name: &'static str,
    recency: &'static str,
    key: &'static [(&'static str, KeyKind)],
) -> Table {
    Table { dag_id: Some("dag_id"), ..table(name, recency, key) }
}

/// All of them.
pub const TABLES: [Table; 21] = [
    of_dags("xcom", "timestamp", OF_XCOM),
    of_dags("_xcom_archive", "timestamp", OF_XCOM),
    of_dags("task_instance_history", "start_date", &[("task_instance_id", KeyKind::Uuid)]),
    of_dags("task_reschedule", "start_date", NUMBER),
    of_dags("task_state_store", "expires_at", NUMBER),
    Table { dependents: &["task_instance_history", "xcom"], ..of_dags("task_instance", "start_date", UUID) },
    of_dags("deadline", "deadline_time", UUID),
    Table {
        keep_last: Some(KeepLast::NotManual),
        dependents: &["task_instance", "task_state_store", "deadline"],
        ..of_dags("dag_run", "start_date", NUMBER)
    },
    // With a callback goes its deadline: one that is not missed yet has a callback that waits for it.
    Table {
        dependents: &["deadline"],
        also: "(base.state IN ('success', 'failed') OR base.state IS NULL OR (base.state = 'scheduled' AND NOT EXISTS \
               (SELECT 1 FROM deadline d WHERE d.callback_id = base.id)))",
        ..table("callback", "created_at", UUID)
    },
    // A callback would not let it go.
    Table {
        dependents: &["task_instance"],
        also: "NOT EXISTS (SELECT 1 FROM callback c WHERE c.trigger_id = base.id)",
        ..table("trigger", "created_date", NUMBER)
    },
    // Nor would task instances let go the version that they were made from,
    Table {
        keep_last: Some(KeepLast::OfAll),
        dependents: &["task_instance", "dag_run"],
        also: "NOT EXISTS (SELECT 1 FROM task_instance ti WHERE ti.dag_version_id = base.id)",
        ..of_dags("dag_version", "created_at", UUID)
    },
    // and with it the DAG.
    Table {
        dependents: &["dag_version", "deadline"],
        also: "NOT EXISTS (SELECT 1 FROM dag_version v JOIN task_instance ti ON ti.dag_version_id = v.id \
               WHERE v.dag_id = base.dag_id)",
        ..of_dags("dag", "last_parsed_time", &[("dag_id", KeyKind::Text)])
    },
    of_dags("asset_event", "timestamp", NUMBER),
    // Those of a run that is to be made yet say when that is.
    Table {
        also: "base.asset_partition_dag_run_id NOT IN (SELECT id FROM asset_partition_dag_run)",
        ..table("partitioned_asset_key_log", "created_at", NUMBER)
    },
    Table {
        also: "base.state IN ('success', 'failed')",
        ..table("connection_test_request", "updated_at", UUID)
    },
    table("import_error", "timestamp", NUMBER),
    of_dags("job", "latest_heartbeat", NUMBER),
    of_dags("log", "dttm", NUMBER),
    table("revoked_token", "exp", &[("jti", KeyKind::Text)]),
    table("celery_taskmeta", "date_done", NUMBER),
    table("celery_tasksetmeta", "date_done", NUMBER),
];

/// The sessions of people, where FAB keeps them in the database.
pub const WITH_FAB: Table = table("session", "expiry", NUMBER);

impl Table {
    /// What identifies a row, as a list of columns.
    pub(super) fn keys(&self) -> String {
        let columns: Vec<String> =
            self.key.iter().map(|(column, _)| format!("base.{{name:{column}}}")).collect();
        columns.join(", ")
    }

    /// How many rows one batch may have: every database has a limit to what is bound, and to how deep a condition is.
    pub(super) fn most_rows(&self) -> usize {
        if self.key.len() == 1 { 5000 } else { 250 }
    }
}

/// Those of some tables that are named, and those that are cleaned before them, in order; all if none is named. What is
/// not the name of a table is returned, too.
pub fn with_dependents<'t>(tables: &'t [Table], names: Option<&[String]>) -> (Vec<&'t Table>, Vec<String>) {
    let find = |name: &str| tables.iter().find(|table| table.name == name);
    let Some(names) = names else { return (tables.iter().collect(), Vec::new()) };
    let (mut wanted, mut unknown) = (BTreeSet::new(), Vec::new());
    for name in names {
        if find(name).is_none() {
            unknown.push(name.clone());
            continue;
        }
        let mut left = vec![name.as_str()];
        while let Some(name) = left.pop() {
            if wanted.insert(name) {
                left.extend(find(name).map_or(&[][..], |table| table.dependents));
            }
        }
    }
    (tables.iter().filter(|table| wanted.contains(table.name)).collect(), unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_before_those_that_they_refer_to() {
        for (place, table) in TABLES.iter().enumerate() {
            for dependent in table.dependents {
                let before = TABLES[..place].iter().any(|other| other.name == *dependent);
                assert!(before, "{dependent} comes before {}", table.name);
            }
        }
    }

    #[test]
    fn a_table_brings_those_that_are_cleaned_before_it() {
        let names = |asked: &[&str]| {
            let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
            let (found, unknown) = with_dependents(&TABLES, Some(&asked));
            (found.iter().map(|table| table.name).collect::<Vec<_>>(), unknown)
        };
        assert_eq!(names(&["log", "logs"]), (vec!["log"], vec!["logs".to_owned()]));
        let of_run =
            ["xcom", "task_instance_history", "task_state_store", "task_instance", "deadline", "dag_run"];
        assert_eq!(names(&["dag_run"]), (of_run.to_vec(), Vec::new()));
        assert_eq!(with_dependents(&TABLES, None).0.len(), TABLES.len());
    }
}
