//! What can go wrong with the database, and what to do about it.

use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlDatabaseError;
use sqlx::postgres::PgDatabaseError;

use crate::encoding::fernet::FernetError;
use crate::list::ListError;
use crate::schema::Refusal;
use crate::transaction::codes::{Kind, mysql, postgres, sqlite};
use crate::{BadRow, ConnectError};

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
    #[error("{0}")]
    Column(Box<BadRow>),
    /// The connection broke while the transaction was being committed: it may have taken effect or not, so
    /// it is not repeated. What it did is guarded by the states it leaves; look again.
    #[error("the connection was lost during commit; the change may or may not have been made")]
    OutcomeUnknown(#[source] sqlx::Error),
    /// A statement failed, the work went on as if it had not, and PostgreSQL keeps nothing of such a transaction.
    #[error("nothing was written: {0} failed, and its transaction with it")]
    Aborted(String),
    /// The work has to know something that no transaction may wait for. It was rolled back; the caller does it
    /// again.
    #[error("nothing was written: {0} has to be asked first")]
    Unasked(&'static str),
    /// The database is not one that ferroflow may work with, or create its tables in.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something is wrong with what was asked of a list.
    #[error(transparent)]
    List(#[from] ListError),
    /// A value could not be decrypted.
    #[error("{what} cannot be read")]
    Fernet {
        /// Which value.
        what: String,
        /// Why not.
        source: FernetError,
    },
}

impl Error {
    /// Whether another transaction holds the lock that a NOWAIT asked for.
    pub fn is_busy(&self) -> bool {
        self.kind() == Kind::Busy
    }

    /// Whether repeating the whole transaction may help: the database does not do it now, and may do it soon.
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }

    /// Whether the database refuses a value as such: it is too long, say, or there already. The same value fails
    /// again; others may not. A row that refers to nothing is no such value.
    pub fn is_about_data(&self) -> bool {
        self.kind() == Kind::BadValue
    }

    /// Whether a row refers to nothing, or something refers to one that is to go. A caller that looks again at what there is may
    /// have other rows to write.
    pub fn is_about_reference(&self) -> bool {
        self.kind() == Kind::BadReference
    }

    /// Whether the same work may succeed one day although nothing about it changes. What is asked for or stored is not
    /// at fault then, but the state that the database is in: it is away, read-only or full, or does not let us in.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Query { cause, .. } => match cause {
                sqlx::Error::Encode(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => false,
                cause => !matches!(kind(cause), Kind::BadValue | Kind::BadReference),
            },
            Self::Connect(_) | Self::OutcomeUnknown(_) | Self::Aborted(_) => true,
            Self::Column { .. }
            | Self::Unasked(_)
            | Self::Refused(_)
            | Self::List(_)
            | Self::Fernet { .. } => false,
        }
    }

    /// Whether it concerns the rows that were met, while others may be dealt with: they are locked, cannot be read, or the
    /// database refuses them.
    pub fn is_about_rows(&self) -> bool {
        match self {
            Self::Query { .. } => self.is_busy() || !self.is_transient(),
            Self::Column(_) | Self::Fernet { .. } => true,
            _ => false,
        }
    }

    /// Whether the rights of the user, the statement or the schema are at fault, and no row.
    pub fn is_about_statement(&self) -> bool {
        let Self::Query { cause: sqlx::Error::Database(error), .. } = self else { return false };
        if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
            return matches!(error.code().get(..2), Some("0A" | "25" | "26" | "3F" | "42"));
        }
        if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
            return matches!(error.number(), 1044 | 1054 | 1064 | 1142 | 1143 | 1146 | 1227 | 1305 | 1370);
        }
        error.code().is_some_and(|code| code == "1")
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Query { cause, .. } => kind(cause),
            _ => Kind::Other,
        }
    }
}

/// Whether the connection itself broke.
pub(crate) fn is_connection_lost(error: &sqlx::Error) -> bool {
    kind(error) == Kind::ConnectionLost
}

/// Whether a connection is of no use any more although it is there. The server at its other end may only let us read:
/// another connection may lead to the one that has taken its place. Or SQLite has undone a transaction by itself, because
/// its file was full, say, and the driver, which does not know, begins no other.
pub(crate) fn is_useless(error: &sqlx::Error) -> bool {
    kind(error) == Kind::ReadOnly || is_out_of_step(error)
}

fn is_out_of_step(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::InvalidSavePointStatement | sqlx::Error::BeginFailed)
}

fn kind(error: &sqlx::Error) -> Kind {
    match error {
        // The pool tries to connect until its time is up. What cannot be understood was cut in the middle.
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed => Kind::ConnectionLost,
        sqlx::Error::Database(error) => {
            if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
                postgres(error.code())
            } else if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
                mysql(error.number())
            } else {
                sqlite(error.code().and_then(|code| code.parse().ok()).unwrap_or(0))
            }
        }
        error if is_out_of_step(error) => Kind::ConnectionLost,
        _ => Kind::Other,
    }
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
    match error.code().and_then(|code| code.parse().ok()).map(sqlite) {
        Some(Kind::Busy) => Some("another process holds the file; let it finish, or end it"),
        Some(Kind::ReadOnly) => Some("make the file and its folder writable for this user"),
        _ => None,
    }
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
