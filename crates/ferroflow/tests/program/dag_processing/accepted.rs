//! Where the rows differ from official Airflow's on purpose, each with its reason; `docs/differences.md` tells more.

use ferroflow_testkit::Server;

use crate::dag_processing::differences::{Difference, ONLY_OURS, ONLY_THEIRS};

/// Differences of one reason.
#[derive(Debug)]
pub(crate) struct Accepted {
    scenario: &'static str,
    servers: &'static [Server],
    /// Any phase if it is empty.
    phases: &'static [&'static str],
    table: &'static str,
    /// Texts may end with `*`, which stands for any rest.
    rows: &'static [&'static str],
    columns: &'static [&'static str],
    /// Why we do otherwise.
    #[expect(dead_code, reason = "it is read by people, here and where it is printed")]
    reason: &'static str,
}

impl Accepted {
    /// Which of the rows and which of the columns a difference is about, if it is such a one.
    pub(crate) fn is_about(
        &self,
        server: Server,
        scenario: &str,
        phase: &str,
        difference: &Difference,
    ) -> Option<(&'static str, &'static str)> {
        let is_here = self.is_expected(server, scenario)
            && (self.phases.is_empty() || self.phases.contains(&phase))
            && self.table == difference.table;
        let row = self.rows.iter().find(|pattern| is_here && matches(pattern, &difference.row))?;
        let column = self.columns.iter().find(|column| **column == difference.column)?;
        Some((row, column))
    }

    /// All rows and columns that should differ.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let columns = self.columns;
        self.rows.iter().flat_map(move |row| columns.iter().map(|column| (*row, *column)))
    }

    /// Whether there is such a difference in a run.
    pub(crate) fn is_expected(&self, server: Server, scenario: &str) -> bool {
        self.scenario == scenario && self.servers.contains(&server)
    }

    const fn on(self, servers: &'static [Server]) -> Self {
        Self { servers, ..self }
    }

    const fn at(self, phases: &'static [&'static str]) -> Self {
        Self { phases, ..self }
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == text, |start| text.starts_with(start))
}

const fn folder(
    reason: &'static str,
    table: &'static str,
    rows: &'static [&'static str],
    columns: &'static [&'static str],
) -> Accepted {
    Accepted { scenario: "folder", servers: &Server::ALL, phases: &[], table, rows, columns, reason }
}

const SIBLINGS: &str = "an error in a file makes stale only those DAGs that the same parse did not deliver";
const TIMETABLE: &str = "an import error tells that a timetable has no answer; Airflow only logs it";
const DROPPED: &str = "a DAG that uses no asset any more refers to none; Airflow keeps the last references";
const DELETED: &str = "a DAG whose file is gone refers to no asset at once; Airflow looks for stale DAGs before it \
                       has written that this is one, and removes them when it looks at the bundle again";
const WATCHERS: &str = "a watcher whose trigger changed gets the new one; Airflow removes it, and adds it again \
                        with the next parse";
const TRIGGERS: &str = "a trigger that is there is used again; Airflow looks for its encrypted form, which is \
                        another every time, and adds one more";
const RENAMED: &str = "the source text is that of the file at every parse; Airflow leaves it in the parse that \
                       renames a deadline, and writes it in the next one";
const ASCII: &str = "a DAG with such an asset is stored; Airflow writes half of its rows and tells nobody";
const ASCII_ON_MYSQL: &str =
    "Airflow's parser itself refuses these on MySQL and MariaDB; the recording is of SQLite";

const NOT_MYSQL: &[Server] = &[Server::Sqlite, Server::Postgres];
const MYSQL: &[Server] = &[Server::MariaDb];

pub(crate) const ACCEPTED: &[Accepted] = &[
    folder(
        SIBLINGS,
        "dag",
        &["bad_cron_sibling", "bad_not", "cycle_sibling", "events_sibling", "policy_changed"],
        &["is_stale", "has_import_errors"],
    ),
    folder(TIMETABLE, "import_error", &["custom_timetable_failing.py"], &[ONLY_OURS]),
    folder(DROPPED, "dag", &["assets_dropped"], &["asset_expression"]).at(&["edited"]),
    folder(DROPPED, "dag_schedule_asset_name_reference", &["assets_dropped / dropped_name"], &[ONLY_THEIRS])
        .at(&["edited"]),
    folder(DROPPED, "task_inlet_asset_reference", &["assets_dropped / only / *"], &[ONLY_THEIRS])
        .at(&["edited"]),
    folder(DROPPED, "task_outlet_asset_reference", &["assets_dropped / only / *"], &[ONLY_THEIRS])
        .at(&["edited"]),
    folder(DELETED, "dag_schedule_asset_reference", &["deleted_later / *"], &[ONLY_THEIRS]).at(&["edited"]),
    folder(DELETED, "task_outlet_asset_reference", &["deleted_later / *"], &[ONLY_THEIRS]).at(&["edited"]),
    folder(WATCHERS, "asset_watcher", &["watcher of running / *"], &[ONLY_OURS]).at(&["edited"]),
    folder(WATCHERS, "asset_watcher", &["watcher of unpaused_later / *"], &[ONLY_OURS]).at(&["restored"]),
    folder(
        TRIGGERS,
        "trigger",
        &["{\"filepath\":\"/nowhere/running\",\"poke_interval\":7.5} #1"],
        &[ONLY_THEIRS],
    )
    .at(&["restored"]),
    folder(RENAMED, "dag_code", &["versioned_deadline / versioned_deadline v1"], &["source_code"])
        .at(&["edited"]),
    folder(ASCII, "asset", &["not_ascii / *"], &[ONLY_OURS]).on(NOT_MYSQL),
    folder(ASCII, "asset_active", &["not_ascii / *"], &[ONLY_OURS]).on(NOT_MYSQL),
    folder(ASCII, "dag_version", &["asset_uri_not_ascii / 1"], &[ONLY_OURS]).on(NOT_MYSQL),
    folder(ASCII, "dag_code", &["asset_uri_not_ascii / *"], &[ONLY_OURS]).on(NOT_MYSQL),
    folder(ASCII, "serialized_dag", &["asset_uri_not_ascii / *"], &[ONLY_OURS]).on(NOT_MYSQL),
    folder(ASCII, "task_outlet_asset_reference", &["asset_uri_not_ascii / *"], &[ONLY_OURS]).on(NOT_MYSQL),
    folder(
        ASCII_ON_MYSQL,
        "import_error",
        &["asset_name_not_ascii.py", "asset_uri_not_ascii.py"],
        &[ONLY_OURS],
    )
    .on(MYSQL),
    folder(ASCII_ON_MYSQL, "dag", &["asset_name_not_ascii", "asset_uri_not_ascii"], &[ONLY_THEIRS]).on(MYSQL),
    folder(ASCII_ON_MYSQL, "asset", &["größe / *"], &[ONLY_THEIRS]).on(MYSQL),
    folder(ASCII_ON_MYSQL, "asset_active", &["größe / *"], &[ONLY_THEIRS]).on(MYSQL),
    folder(ASCII_ON_MYSQL, "dag_version", &["asset_name_not_ascii / 1"], &[ONLY_THEIRS]).on(MYSQL),
    folder(ASCII_ON_MYSQL, "dag_code", &["asset_name_not_ascii / *"], &[ONLY_THEIRS]).on(MYSQL),
    folder(ASCII_ON_MYSQL, "serialized_dag", &["asset_name_not_ascii / *"], &[ONLY_THEIRS]).on(MYSQL),
    folder(ASCII_ON_MYSQL, "task_outlet_asset_reference", &["asset_name_not_ascii / *"], &[ONLY_THEIRS])
        .on(MYSQL),
];

#[test]
fn what_is_accepted_is_told_apart() {
    let accepted = folder("so it is", "dag", &["bad_not"], &["is_stale"]).on(NOT_MYSQL).at(&["edited"]);
    let ours = serde_json::json!({"dag": [{"dag_id": "bad_not", "is_stale": false, "owners": "a"}]});
    let theirs = serde_json::json!({"dag": [{"dag_id": "bad_not", "is_stale": true, "owners": "b"}]});
    let found = crate::dag_processing::differences::differences(&theirs, &ours);
    let about: Vec<(&str, bool)> = found
        .iter()
        .map(|difference| {
            (
                difference.column.as_str(),
                accepted.is_about(Server::Sqlite, "folder", "edited", difference).is_some(),
            )
        })
        .collect();
    assert_eq!(about, [("is_stale", true), ("owners", false)]);
    assert_eq!(accepted.is_about(Server::Sqlite, "examples", "edited", &found[0]), None);
    assert_eq!(accepted.is_about(Server::Sqlite, "folder", "initial", &found[0]), None);
    assert_eq!(accepted.is_about(Server::MariaDb, "folder", "edited", &found[0]), None);
}
