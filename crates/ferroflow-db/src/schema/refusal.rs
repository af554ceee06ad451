//! Why ferroflow does not work with a database, and what to do.

use crate::schema::{REVISION, State};

/// Why ferroflow does not work with a database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing there yet.
    #[error("the database has no tables; create them with: ferroflow db migrate")]
    NoTables,
    /// Creation stopped half-way.
    #[error("creating the tables was interrupted; finish it with: ferroflow db migrate")]
    Interrupted,
    /// PostgreSQL has no schema for them.
    #[error(
        "the database has no schema to look in; create the one that [database] sql_alchemy_schema names \
         (CREATE SCHEMA …), or let the user's search_path name one that exists"
    )]
    NoSchema,
    /// Made by an older Airflow.
    #[error(
        "the database is at revision {revision}, of Airflow {version}; ferroflow needs {REVISION}, of 3.3: \
         back it up, then run `airflow db migrate` of Airflow 3.3.2"
    )]
    OlderRevision {
        /// Its revision.
        revision: String,
        /// The first version of Airflow with this revision.
        version: &'static str,
    },
    /// Made by a newer Airflow, or one between two releases.
    #[error(
        "the database is at revision {revision}, which ferroflow does not know; it needs {REVISION}, of \
         Airflow 3.3: if it comes from a newer Airflow, run that version's `airflow db downgrade --to-version \
         3.3.2`, or use a newer ferroflow; if from an older one, `airflow db migrate` of 3.3.2"
    )]
    UnknownRevision {
        /// Its revision.
        revision: String,
    },
    /// Its tables are not Airflow's.
    #[error(
        "the database holds tables that are not Airflow's, or has lost its revision ({}); nothing was changed: \
         give ferroflow an empty database, or on PostgreSQL an empty schema by [database] sql_alchemy_schema",
        listed(tables)
    )]
    ForeignTables {
        /// Their names.
        tables: Vec<String>,
    },
    /// The revision is right, the tables are not.
    #[error(
        "the database is at revision {REVISION}, but lacks tables ({}); restore it from a backup, or correct \
         [database] sql_alchemy_schema",
        listed(missing)
    )]
    MissingTables {
        /// Their names.
        missing: Vec<String>,
    },
    /// Another process migrates.
    #[error("another process is migrating this database; try again when it is done")]
    MigrationRunning,
}

impl Refusal {
    /// What is wrong with a database; nothing if it is current.
    pub(super) fn of(state: State) -> Option<Self> {
        match state {
            State::Current => None,
            State::Empty => Some(Self::NoTables),
            State::Interrupted => Some(Self::Interrupted),
            State::Damaged { missing } => Some(Self::MissingTables { missing }),
            State::Other { revision } => Some(Self::other_revision(revision)),
            State::Foreign { tables } => Some(Self::ForeignTables { tables }),
        }
    }

    fn other_revision(revision: String) -> Self {
        match RELEASES.iter().find(|(_, head)| *head == revision) {
            Some((version, _)) => Self::OlderRevision { revision, version },
            None => Self::UnknownRevision { revision },
        }
    }
}

/// The releases of Airflow that changed the schema, and the revision each left.
const RELEASES: &[(&str, &str)] = &[
    ("2.6.2", "4bc4d934e2bc"),
    ("2.7.0", "405de8318b3a"),
    ("2.8.0", "10b52ebd31f7"),
    ("2.8.1", "88344c1d9134"),
    ("2.9.0", "1949afb29106"),
    ("2.9.2", "686269002441"),
    ("2.10.0", "22ed7efa9da2"),
    ("2.10.3", "5f2621c13b39"),
    ("3.0.0", "29ce7909c52b"),
    ("3.0.3", "fe199e1abd77"),
    ("3.1.0", "cc92b33c6709"),
    ("3.1.8", "509b94a1042d"),
    ("3.2.0", "1d6611b6ab7c"),
];

fn listed(tables: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = tables.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match tables.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_older_revision_names_its_release() {
        let text = Refusal::other_revision("1d6611b6ab7c".to_owned()).to_string();
        assert!(text.contains("of Airflow 3.2.0"), "{text}");
        let text = Refusal::other_revision("ffffffffffff".to_owned()).to_string();
        assert!(text.contains("does not know"), "{text}");
    }

    #[test]
    fn a_long_list_of_tables_is_cut() {
        let tables = (1..=8).map(|n| format!("t{n}")).collect::<Vec<_>>();
        assert_eq!(listed(&tables), "t1, t2, t3, t4, t5 and 3 more");
        assert_eq!(listed(&tables[..2]), "t1, t2");
    }
}
