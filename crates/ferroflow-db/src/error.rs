//! What can go wrong with the database, and what to do about it.

use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlDatabaseError;
use sqlx::postgres::PgDatabaseError;

use crate::connect::ConnectError;
use crate::encoding::fernet::FernetError;
use crate::schema::Refusal;

/// Every fallible function of this crate returns this.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A statement failed.
    #[error("{operation} failed: {}", reason(cause))]
    Query {
        /// `table/operation`.
        operation: String,
        /// The driver's error, already in the message.
        cause: sqlx::Error,
    },
    /// A column holds something else than it should.
    #[error("column {column} cannot be read")]
    Column {
        /// Its name.
        column: &'static str,
        /// What it holds.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The connection broke while the transaction was being committed: it may have taken effect or not, so
    /// it is not repeated. What it did is guarded by the states it leaves; look again.
    #[error("the connection was lost during commit; the change may or may not have been made")]
    OutcomeUnknown(#[source] sqlx::Error),
    /// A statement failed, the work went on as if it had not, and PostgreSQL keeps nothing of such a transaction.
    #[error("nothing was written: {0} failed, and its transaction with it")]
    Aborted(String),
    /// The work has to know something that no transaction may wait for. It was rolled back; whoever has asked does it
    /// again.
    #[error("nothing was written: {0} has to be asked first")]
    Unasked(&'static str),
    /// The database is not one that ferroflow may work with, or create its tables in.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A value could not be decrypted.
    #[error("{what} cannot be read")]
    Fernet {
        /// Which value.
        what: String,
        /// Why not.
        source: FernetError,
    },
}

/// How an error of the database is to be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Somebody else holds the lock.
    Busy,
    /// The same transaction may succeed if it is repeated.
    Transient,
    /// The connection is gone; so is the transaction.
    ConnectionLost,
    /// It fails again.
    Permanent,
}

impl Error {
    /// Whether somebody else holds the lock that a NOWAIT asked for.
    pub fn is_busy(&self) -> bool {
        self.kind() == Kind::Busy
    }

    /// Whether repeating the whole transaction may help.
    pub fn is_transient(&self) -> bool {
        self.kind() != Kind::Permanent
    }

    /// Whether the database refuses a value as such: it is too long, say, or there already. The same value fails
    /// again; others may not. A row that refers to nothing is no such value.
    pub fn is_about_data(&self) -> bool {
        let Self::Query { cause: sqlx::Error::Database(error), .. } = self else { return false };
        if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
            postgres_refuses_value(error.code())
        } else if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
            mysql_refuses_value(error.number())
        } else {
            sqlite_refuses_value(error.code().and_then(|code| code.parse().ok()).unwrap_or(0))
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Query { cause, .. } => kind(cause),
            _ => Kind::Permanent,
        }
    }
}

/// Whether the connection itself broke.
pub(crate) fn is_connection_lost(error: &sqlx::Error) -> bool {
    kind(error) == Kind::ConnectionLost
}

fn kind(error: &sqlx::Error) -> Kind {
    match error {
        // The pool tries to connect until its time is up.
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => Kind::ConnectionLost,
        sqlx::Error::Database(error) => {
            if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
                postgres_kind(error.code())
            } else if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
                mysql_kind(error.number())
            } else {
                sqlite_kind(error.code().and_then(|code| code.parse().ok()).unwrap_or(0))
            }
        }
        _ => Kind::Permanent,
    }
}

fn postgres_kind(code: &str) -> Kind {
    match code {
        "55P03" => Kind::Busy,
        // serialization_failure, deadlock_detected, too_many_connections
        "40001" | "40P01" | "53300" => Kind::Transient,
        // admin_shutdown, crash_shutdown, cannot_connect_now, idle_session_timeout,
        // idle_in_transaction_session_timeout; and everything about connections
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Kind::ConnectionLost,
        code if code.starts_with("08") => Kind::ConnectionLost,
        _ => Kind::Permanent,
    }
}

fn mysql_kind(number: u16) -> Kind {
    match number {
        // lock wait timeout (what MariaDB answers to NOWAIT), NOWAIT on MySQL 8
        1205 | 3572 => Kind::Busy,
        // deadlock, too many connections; and MariaDB's "record has changed since last read"
        1213 | 1040 | 1020 => Kind::Transient,
        // server shutdown, connection killed, server gone away, lost connection
        1053 | 1927 | 2006 | 2013 => Kind::ConnectionLost,
        _ => Kind::Permanent,
    }
}

/// The extended codes carry the primary one in their low byte: 5 is busy, 6 is locked.
fn sqlite_kind(code: i32) -> Kind {
    if matches!(code & 0xff, 5 | 6) { Kind::Busy } else { Kind::Permanent }
}

/// Data exceptions and limits of the program; of the constraints NOT NULL, UNIQUE and CHECK.
fn postgres_refuses_value(code: &str) -> bool {
    code.starts_with("22") || code.starts_with("54") || matches!(code, "23502" | "23505" | "23514")
}

/// NULL, duplicate, row too large, packet too large, out of range, truncated, wrong date, another collation, not of this set,
/// wrong text, too long, not JSON, not of this collation, CHECK.
fn mysql_refuses_value(number: u16) -> bool {
    matches!(
        number,
        1048 | 1062
            | 1118
            | 1153
            | 1264
            | 1265
            | 1267
            | 1292
            | 1300
            | 1366
            | 1406
            | 3140
            | 3819
            | 3988
            | 4025
    )
}

/// Too big, or a constraint (19) other than a foreign key's (787).
fn sqlite_refuses_value(code: i32) -> bool {
    matches!(code & 0xff, 18 | 19) && code != 787
}

/// What to do about errors that do not say so.
fn advice(error: &dyn DatabaseError) -> Option<&'static str> {
    const GRANT: &str = "GRANT the user of [database] sql_alchemy_conn the right to do this";
    if error.try_downcast_ref::<PgDatabaseError>().is_some() {
        return match error.code()?.as_ref() {
            // duplicate_prepared_statement, invalid_sql_statement_name
            "42P05" | "26000" => {
                Some("behind a pooler in transaction mode, set [ferroflow] database_statement_cache = 0")
            }
            "42501" => Some(GRANT),
            _ => None,
        };
    }
    if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
        return matches!(error.number(), 1044 | 1142 | 1227).then_some(GRANT);
    }
    let is_busy = error.code().and_then(|code| code.parse().ok()).map(sqlite_kind) == Some(Kind::Busy);
    is_busy.then_some("another process holds the file; let it finish, or end it")
}

/// The driver's words without its preamble, and advice.
fn reason(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => match advice(error.as_ref()) {
            Some(advice) => format!("{}; {advice}", error.message()),
            None => error.message().to_owned(),
        },
        sqlx::Error::Io(error) => format!("the connection was lost ({error})"),
        sqlx::Error::PoolTimedOut => {
            "no connection could be had in time: the server does not answer, or all are \
                                      in use ([database] sql_alchemy_pool_size and _max_overflow)"
                .to_owned()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_refused_but_a_row_that_refers_to_nothing_is_not_one() {
        let codes = ["22001", "22021", "22P05", "23505", "54000", "23503", "40001", "42501"];
        assert_eq!(codes.map(postgres_refuses_value), [true, true, true, true, true, false, false, false]);
        assert_eq!([1406, 1062, 1267, 1452, 1213].map(mysql_refuses_value), [true, true, true, false, false]);
        // 1555 primary key, 2067 unique, 787 foreign key, 5 busy
        assert_eq!([1555, 2067, 18, 787, 5].map(sqlite_refuses_value), [true, true, true, false, false]);
    }

    #[test]
    fn codes_are_met_as_airflow_meets_them() {
        assert_eq!(
            ["55P03", "40001", "40P01", "57P01", "08006", "23505"].map(postgres_kind),
            [
                Kind::Busy,
                Kind::Transient,
                Kind::Transient,
                Kind::ConnectionLost,
                Kind::ConnectionLost,
                Kind::Permanent
            ]
        );
        assert_eq!(
            [1205, 3572, 1213, 2013, 1062].map(mysql_kind),
            [Kind::Busy, Kind::Busy, Kind::Transient, Kind::ConnectionLost, Kind::Permanent]
        );
        // 5 busy, 261 busy in recovery, 517 busy snapshot, 6 locked, 19 constraint
        assert_eq!(
            [5, 261, 517, 6, 19].map(sqlite_kind),
            [Kind::Busy, Kind::Busy, Kind::Busy, Kind::Busy, Kind::Permanent]
        );
    }
}
