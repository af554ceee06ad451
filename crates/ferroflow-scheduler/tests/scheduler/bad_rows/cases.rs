//! Which values are spoilt, and whose they are.

use ferroflow_db::Db;
use ferroflow_db::testing::texts;
use ferroflow_testkit::Server;

use crate::bad_rows::values;

/// A value to be spoilt.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) table: &'static str,
    pub(crate) column: String,
    /// What the value is called.
    pub(crate) what: &'static str,
    /// How SQL writes it.
    pub(crate) value: &'static str,
    /// Which row.
    pub(crate) row: &'static str,
    /// The DAGs that it belongs to.
    pub(crate) owners: &'static [&'static str],
}

/// Rows of a table, each with the DAGs that it belongs to.
struct Rows(&'static str, &'static [(&'static str, &'static [&'static str])]);

/// The row of the scheduler that does the work: it is spoilt when it is there. That of the dead one stands for it before.
const LIVING: &str = "hostname = 'second'";
const DEAD: &str = "hostname = 'first'";

/// The assets' rows belong to those that write them and wait for them.
const OF_ASSETS: &[&str] = &["producer", "consumer", "by_name", "by_uri"];

const TABLES: &[Rows] = &[
    Rows(
        "dag",
        &[
            ("dag_id = 'daily'", &["daily"]),
            ("dag_id = 'consumer'", &["consumer"]),
            ("dag_id = 'abandoned'", &["abandoned"]),
        ],
    ),
    Rows(
        "dag_run",
        &[
            ("dag_id = 'fresh'", &["fresh"]),
            ("dag_id = 'abandoned'", &["abandoned"]),
            ("dag_id = 'backfilled' AND run_id = 'backfill__1'", &["backfilled"]),
            ("dag_id = 'overlapping' AND run_id = 'backfill__1'", &["overlapping"]),
            ("dag_id = 'overlapping' AND run_id = 'backfill__2'", &["overlapping"]),
            ("dag_id = 'daily'", &["daily"]),
            ("dag_id = 'retried'", &["retried"]),
        ],
    ),
    Rows(
        "task_instance",
        &[
            ("dag_id = 'abandoned' AND task_id = 'left'", &["abandoned"]),
            ("dag_id = 'hung' AND task_id = 'hung'", &["hung"]),
            ("dag_id = 'deferring' AND task_id = 'waits'", &["deferring"]),
            ("dag_id = 'retried' AND task_id = 'again'", &["retried"]),
            ("dag_id = 'expanding' AND task_id = 'push'", &["expanding"]),
            ("dag_id = 'fresh' AND task_id = 'a'", &["fresh"]),
            ("dag_id = 'abandoned' AND task_id = 'after'", &["abandoned"]),
        ],
    ),
    Rows("serialized_dag", &[("dag_id = 'abandoned'", &["abandoned"]), ("dag_id = 'daily'", &["daily"])]),
    Rows("dag_version", &[("dag_id = 'abandoned'", &["abandoned"]), ("dag_id = 'fresh'", &["fresh"])]),
    Rows(
        "slot_pool",
        &[("pool = 'pool_abandoned'", &["abandoned"]), ("pool = 'pool_branching'", &["branching"])],
    ),
    Rows("trigger", &[("classpath = 'tests.Trigger'", &["deferring"])]),
    Rows("task_reschedule", &[("id > 0", &["retried"])]),
    Rows(
        "xcom",
        &[
            ("dag_id = 'expanding' AND task_id = 'push'", &["expanding"]),
            ("dag_id = 'branching' AND task_id = 'branch'", &["branching"]),
        ],
    ),
    Rows("task_map", &[("dag_id = 'expanding'", &["expanding"])]),
    Rows(
        "backfill",
        &[
            ("dag_id = 'backfilled'", &["backfilled"]),
            ("dag_id = 'overlapping'", &["overlapping"]),
            ("dag_id = 'half_made'", &["half_made"]),
        ],
    ),
    Rows(
        "backfill_dag_run",
        &[
            ("backfill_id = 1 AND sort_ordinal = 1", &["backfilled"]),
            ("backfill_id = 2 AND sort_ordinal = 2", &["overlapping"]),
            ("backfill_id = 3 AND sort_ordinal = 1", &["half_made"]),
        ],
    ),
    Rows("job", &[(DEAD, &[]), (LIVING, &[])]),
    Rows("callback", &[("bundle_name IS NULL", &["late"]), ("bundle_name IS NOT NULL", &["late"])]),
    Rows("deadline_alert", &[("name = 'in_time'", &["daily"])]),
    Rows("hitl_detail", &[("subject = 'Shall it go on'", &["asking"])]),
    Rows("connection_test_request", &[("connection_id = 'tried'", &[])]),
    Rows(
        "deadline",
        &[("deadline_alert_id IS NULL", &["late"]), ("deadline_alert_id IS NOT NULL", &["daily"])],
    ),
    Rows("asset", &[("name = 'x'", OF_ASSETS), ("name = 'aliased'", &["by_alias"])]),
    Rows("asset_active", &[("name = 'x'", OF_ASSETS)]),
    Rows("asset_alias", &[("name = 'alias'", &["by_alias"])]),
    Rows("asset_alias_asset", &[("alias_id > 0", &["by_alias"])]),
    Rows("asset_watcher", &[("name = 'watcher'", &["by_alias"])]),
    Rows("asset_state_store", &[("value = '1'", OF_ASSETS)]),
    Rows("asset_alias_asset_event", &[("alias_id = 1", &["by_alias"])]),
    Rows("dagrun_asset_event", &[("dag_run_id > 0", OF_ASSETS)]),
    Rows(
        "asset_event",
        &[
            ("asset_id IN (SELECT id FROM asset WHERE name = 'x')", OF_ASSETS),
            ("asset_id IN (SELECT id FROM asset WHERE name = 'aliased')", &["by_alias", "consumer"]),
        ],
    ),
    Rows("asset_dag_run_queue", &[("target_dag_id = 'by_alias'", &["by_alias"])]),
    Rows("dag_schedule_asset_reference", &[("dag_id = 'consumer'", &["consumer"])]),
    Rows("dag_schedule_asset_alias_reference", &[("dag_id = 'by_alias'", &["by_alias"])]),
    Rows("dag_schedule_asset_name_reference", &[("dag_id = 'by_name'", &["by_name"])]),
    Rows("dag_schedule_asset_uri_reference", &[("dag_id = 'by_uri'", &["by_uri"])]),
    Rows("task_inlet_asset_reference", &[("dag_id = 'producer'", OF_ASSETS)]),
    Rows("task_outlet_asset_reference", &[("dag_id = 'producer'", OF_ASSETS)]),
    Rows("asset_partition_dag_run", &[("target_dag_id = 'consumer'", &["consumer"])]),
    Rows("partitioned_asset_key_log", &[("target_dag_id = 'consumer'", &["consumer"])]),
];

impl Case {
    /// The row that is there before a scheduler works.
    pub(crate) fn row_before(&self) -> &'static str {
        if self.is_of_the_living() { DEAD } else { self.row }
    }

    /// Whether the row is there once a scheduler works.
    pub(crate) fn is_of_the_living(&self) -> bool {
        self.row == LIVING
    }
}

/// Of a request to try a connection schedulers read these columns; the others are for whoever tries it.
const OF_REQUESTS: [&str; 8] =
    ["id", "connection_id", "state", "executor", "queue", "team_name", "created_at", "updated_at"];

/// Which cases somebody wants to see.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// Two values of each column.
    Some,
    /// So many, of all tables.
    Few(usize),
    /// Every value of every column.
    All,
    /// Every value of a column, or of all columns of a table.
    Of(String),
}

impl Wanted {
    /// What is asked for; without that some, or as few as are said.
    pub(crate) fn asked(few: Option<usize>) -> Self {
        match asked() {
            Some(all) if all == "all" => Self::All,
            Some(some) if some == "some" => Self::Some,
            Some(name) => Self::Of(name),
            None => few.map_or(Self::Some, Self::Few),
        }
    }

    /// Whether somebody asks for anything.
    pub(crate) fn is_some_asked() -> bool {
        asked().is_some()
    }
}

#[expect(clippy::disallowed_methods, reason = "how much is tried is said to the tests, not in airflow.cfg")]
fn asked() -> Option<String> {
    std::env::var("FERROFLOW_BAD_ROWS").ok()
}

/// The cases that are wanted, for the columns that the tables have.
pub(crate) async fn cases(db: &Db, server: Server, wanted: &Wanted) -> Vec<Case> {
    let (mut cases, mut missing) = (Vec::new(), Vec::new());
    for Rows(table, rows) in TABLES {
        for (row, _) in *rows {
            let (table, row) = (quoted(server, table), if *row == LIVING { DEAD } else { row });
            let question = format!("SELECT CAST(COUNT(*) AS CHAR(20)) AS answer FROM {table} WHERE {row}");
            if texts(db, &question).await.unwrap()[0].trim() == "0" {
                missing.push(format!("{table} where {row}"));
            }
        }
        for (number, described) in columns(db, server, table).await.into_iter().enumerate() {
            let (column, type_name) = described.split_once('|').unwrap();
            if *table == "connection_test_request" && !OF_REQUESTS.contains(&column) {
                continue;
            }
            let values = values::of_type(server, type_name);
            for (place, (what, value)) in values.iter().copied().enumerate() {
                for (turn, (row, owners)) in rows.iter().copied().enumerate() {
                    let case = Case { table, column: column.to_owned(), what, value, row, owners };
                    if wanted.has(&case, (number, place, turn), (values.len(), rows.len())) {
                        cases.push(case);
                    }
                }
            }
        }
    }
    assert!(missing.is_empty(), "these rows are not there: {missing:?}");
    if let Wanted::Few(most) = wanted {
        let step = (cases.len() / most).max(1);
        cases = cases.into_iter().step_by(step).collect();
    }
    cases
}

impl Wanted {
    /// Whether a case is wanted, by the places of its column, value and row, and how many values and rows there are. Of
    /// each column the values take turns, and so do the rows.
    fn has(
        &self,
        case: &Case,
        (column, value, row): (usize, usize, usize),
        (values, rows): (usize, usize),
    ) -> bool {
        match self {
            Self::All => true,
            Self::Of(name) => *name == case.table || *name == format!("{}.{}", case.table, case.column),
            Self::Some | Self::Few(_) => {
                let second = (column + 1 + values / 2) % values;
                (value == column % values && row == column % rows)
                    || (value == second && row == (column + 1) % rows)
            }
        }
    }
}

/// A name as SQL writes it.
pub(crate) fn quoted(server: Server, name: &str) -> String {
    let quote = if server == Server::MariaDb { '`' } else { '"' };
    format!("{quote}{name}{quote}")
}

/// The names of the columns of a table, each with its type.
async fn columns(db: &Db, server: Server, table: &str) -> Vec<String> {
    let question = match server {
        Server::Sqlite => format!("SELECT name || '|' || type AS answer FROM pragma_table_info('{table}')"),
        Server::Postgres => format!(
            "SELECT column_name || '|' || data_type AS answer FROM information_schema.columns WHERE table_name = \
             '{table}' AND table_schema = 'public' ORDER BY ordinal_position"
        ),
        Server::MariaDb => format!(
            "SELECT CONCAT(column_name, '|', data_type) AS answer FROM information_schema.columns WHERE table_name = \
             '{table}' AND table_schema = DATABASE() ORDER BY ordinal_position"
        ),
    };
    let found = texts(db, &question).await.unwrap();
    assert!(!found.is_empty(), "there is no table {table}");
    found
}
