//! Everything that differs between the databases, in one table.
//!
//! SQL is written once, in `sql/<table>/<operation>.sql`: `?` binds a value, `{in}` a list, `{rows:8}` as many rows of
//! eight values as are given, `{columns:dag_run}` or `{columns:dag_run t}` a [set of columns](columns), `{where}`, `{order}`,
//! `{page}` and `{order_keys}` what is asked of a [list](crate::list), and a `{fragment}` from the table below stands where the dialects differ:
//!
//! | fragment | PostgreSQL | MySQL 8 | MariaDB | SQLite |
//! |---|---|---|---|---|
//! | `{lock_skip:t}` | `FOR NO KEY UPDATE OF t SKIP LOCKED` | `FOR UPDATE OF t SKIP LOCKED` | `FOR UPDATE SKIP LOCKED` | |
//! | `{pass_over_locked:t}` | the same, whether or not `[scheduler] use_row_level_locking` | | | |
//! | `{lock:t}` | `FOR NO KEY UPDATE OF t` | `FOR UPDATE OF t` | `FOR UPDATE` | |
//! | `{lock_nowait}` | `FOR NO KEY UPDATE NOWAIT` | `FOR UPDATE NOWAIT` | `FOR UPDATE NOWAIT` | |
//! | `{where_no_other_queues}` | `WHERE (SELECT pg_try_advisory_xact_lock(2))` | | | |
//! | `{use_index:i}` | | `USE INDEX (i)` | as MySQL | `INDEXED BY i` |
//! | `{name:key}` | `"key"` | `` `key` `` | `` `key` `` | `"key"` |
//! | `{upsert:key}` | `ON CONFLICT ("key") DO UPDATE SET` | `ON DUPLICATE KEY UPDATE` | as MySQL | as PostgreSQL |
//! | `{upsert:a,b}` | `ON CONFLICT ("a", "b") DO UPDATE SET` | as above | as MySQL | as PostgreSQL |
//! | `{or_keep:key}` | `ON CONFLICT DO NOTHING` | ``ON DUPLICATE KEY UPDATE `key` = `key` `` | as MySQL | as PostgreSQL |
//! | `{proposed:val}` | `excluded."val"` | ``VALUES(`val`)`` | as MySQL | as PostgreSQL |
//! | `{utc:t.c}` | `t.c AT TIME ZONE 'UTC'` | `t.c` | `t.c` | `t.c` |
//! | `{text:t.c}` | `CAST(t.c AS TEXT)` | `CAST(t.c AS CHAR)` | as MySQL | as PostgreSQL |
//! | `{values}` | `VALUES ` | | | `VALUES ` |
//! | `{seconds:t.a,t.b}` | `CAST(EXTRACT(EPOCH FROM t.b - t.a) AS DOUBLE PRECISION)` | `TIMESTAMPDIFF(SECOND, t.a, t.b) + 0.0E0` | as MySQL | `(julianday(t.b) - julianday(t.a)) * 86400.0` |
//! | `{returning:id}` | `RETURNING "id"` | | | |
//!
//! The locks are the official scheduler's own, so that it and ferroflow exclude each other. `FOR UPDATE` in
//! their place would block the foreign-key checks of API servers and DAG processors on PostgreSQL. Its advisory lock is
//! taken before the pools', as Airflow does: with only one of them a scheduler excludes no other. MariaDB has
//! no `OF`: a locking statement there reads one table only, or locks what it joins. SQLite has one writer and
//! needs no lock. An id that the database counts up is returned by `RETURNING` on PostgreSQL and by the
//! driver elsewhere.

use std::fmt;

use crate::statement::columns::columns;

/// The number of the lock by which PostgreSQL lets one scheduler at a time queue task instances: Airflow's own.
const QUEUEING_LOCK: u32 = 2;

/// A database, as far as its SQL differs from the others'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// MySQL 8.
    MySql,
    /// MariaDB 10.7 or newer: the oldest with `SKIP LOCKED` and a UUID type.
    MariaDb,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// The text of one fragment, or `None` if there is no fragment of that name.
    pub(crate) fn fragment(self, name: &str, row_locks: bool) -> Option<String> {
        let (name, argument) = name.split_once(':').unwrap_or((name, ""));
        let text = match name {
            "lock" | "lock_skip" | "lock_nowait" | "where_no_other_queues" if !row_locks => String::new(),
            // Asked for once, before any row is read, and held until the transaction ends.
            "where_no_other_queues" if self == Self::Postgres => {
                format!("WHERE (SELECT pg_try_advisory_xact_lock({QUEUEING_LOCK}))")
            }
            // The second is none of the locks between schedulers, which a site may do without.
            "lock_skip" | "pass_over_locked" => self.lock_skip(argument),
            "lock" => self.lock(argument),
            "lock_nowait" => self.lock_nowait().to_owned(),
            "name" => self.quote(argument),
            "upsert" if self.is_mysql_family() => "ON DUPLICATE KEY UPDATE".to_owned(),
            "upsert" => {
                let columns: Vec<String> = argument.split(',').map(|column| self.quote(column)).collect();
                format!("ON CONFLICT ({}) DO UPDATE SET", columns.join(", "))
            }
            // Writing a column onto itself changes nothing. `INSERT IGNORE` would also pass over values too long and
            // rows that refer to nothing.
            "or_keep" if self.is_mysql_family() => {
                let column = self.quote(argument);
                format!("ON DUPLICATE KEY UPDATE {column} = {column}")
            }
            "or_keep" => "ON CONFLICT DO NOTHING".to_owned(),
            "proposed" if self.is_mysql_family() => format!("VALUES({})", self.quote(argument)),
            "proposed" => format!("excluded.{}", self.quote(argument)),
            // Into a column without a zone PostgreSQL would write what the session's clocks show.
            "utc" if self == Self::Postgres => format!("{argument} AT TIME ZONE 'UTC'"),
            "utc" => argument.to_owned(),
            "text" if self.is_mysql_family() => format!("CAST({argument} AS CHAR)"),
            "text" => format!("CAST({argument} AS TEXT)"),
            // Before the rows of a list of tuples: `(a, b) IN ({values}{rows:2})`.
            "values" if self.is_mysql_family() => String::new(),
            "values" => "VALUES ".to_owned(),
            "returning" if self == Self::Postgres => format!("RETURNING {}", self.quote(argument)),
            // They would choose an index by which they find all that ever ran. PostgreSQL knows how much that is.
            "use_index" if self.is_mysql_family() => format!("USE INDEX ({argument})"),
            "use_index" if self == Self::Sqlite => format!("INDEXED BY {argument}"),
            "columns" => return columns(self, argument),
            "seconds" => self.seconds(argument),
            "returning" | "where_no_other_queues" | "use_index"
            // The whole of a list.
            | "where" | "order" | "page" | "order_keys" => String::new(),
            _ => return None,
        };
        Some(text)
    }

    /// Whether this is MySQL or MariaDB.
    pub(crate) fn is_mysql_family(self) -> bool {
        matches!(self, Self::MySql | Self::MariaDb)
    }

    /// Quotes an identifier.
    pub(crate) fn quote(self, identifier: &str) -> String {
        let mark = if self.is_mysql_family() { '`' } else { '"' };
        let doubled = identifier.replace(mark, &format!("{mark}{mark}"));
        format!("{mark}{doubled}{mark}")
    }

    /// The seconds between two times, as Airflow counts them.
    fn seconds(self, times: &str) -> String {
        let (from, to) = times.split_once(',').unwrap_or((times, times));
        match self {
            Self::Postgres => format!("CAST(EXTRACT(EPOCH FROM {to} - {from}) AS DOUBLE PRECISION)"),
            Self::MySql | Self::MariaDb => format!("TIMESTAMPDIFF(SECOND, {from}, {to}) + 0.0E0"),
            Self::Sqlite => format!("(julianday({to}) - julianday({from})) * 86400.0"),
        }
    }

    fn lock(self, table: &str) -> String {
        match self {
            Self::Postgres => format!("FOR NO KEY UPDATE OF {table}"),
            Self::MySql => format!("FOR UPDATE OF {table}"),
            Self::MariaDb => "FOR UPDATE".to_owned(),
            Self::Sqlite => String::new(),
        }
    }

    fn lock_skip(self, table: &str) -> String {
        match self {
            Self::Sqlite => String::new(),
            _ => format!("{} SKIP LOCKED", self.lock(table)),
        }
    }

    fn lock_nowait(self) -> &'static str {
        match self {
            Self::Postgres => "FOR NO KEY UPDATE NOWAIT",
            Self::MySql | Self::MariaDb => "FOR UPDATE NOWAIT",
            Self::Sqlite => "",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "PostgreSQL",
            Self::MySql => "MySQL",
            Self::MariaDb => "MariaDB",
            Self::Sqlite => "SQLite",
        })
    }
}
