//! What the codes mean by which databases say why they do not do something.

/// How an error of the database is to be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Another transaction holds the lock.
    Busy,
    /// The same transaction may succeed if it is repeated.
    Transient,
    /// The connection is gone; so is the transaction.
    ConnectionLost,
    /// The server only lets us read, as one does that has handed over to another.
    ReadOnly,
    /// The server cannot do it now: its disk is full, its memory used up, it starts or stops.
    Unavailable,
    /// A value is refused as such.
    BadValue,
    /// A row refers to nothing, or something refers to it.
    BadReference,
    /// The statement, its rights, the schema: it fails again until an operator has seen to it.
    Other,
}

impl Kind {
    /// Whether the same may succeed soon, without an operator.
    pub(crate) fn is_transient(self) -> bool {
        match self {
            Self::Busy | Self::Transient | Self::ConnectionLost | Self::ReadOnly | Self::Unavailable => true,
            Self::BadValue | Self::BadReference | Self::Other => false,
        }
    }
}

/// By SQLSTATE, of which the first two characters are a class.
pub(crate) fn postgres(code: &str) -> Kind {
    match code {
        // lock_not_available
        "55P03" => Kind::Busy,
        // read_only_sql_transaction
        "25006" => Kind::ReadOnly,
        // query_canceled; object_in_use
        "57014" | "55006" => Kind::Transient,
        // admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped, idle_session_timeout,
        // idle_in_transaction_session_timeout, transaction_timeout
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25P03" | "25P04" => Kind::ConnectionLost,
        "23503" => Kind::BadReference,
        "23502" | "23505" | "23514" => Kind::BadValue,
        code => match code.get(..2) {
            Some("08") => Kind::ConnectionLost,
            Some("40") => Kind::Transient,
            // corrupted data, corrupted index: of one row or table, and for good
            _ if matches!(code, "XX001" | "XX002") => Kind::BadValue,
            // insufficient resources, operator intervention, system error, internal error
            Some("53" | "57" | "58" | "XX") => Kind::Unavailable,
            // data exceptions, limits of the program
            Some("22" | "54") => Kind::BadValue,
            _ => Kind::Other,
        },
    }
}

/// By number, of MySQL and of MariaDB.
pub(crate) fn mysql(number: u16) -> Kind {
    match number {
        // lock wait timeout (what MariaDB answers to NOWAIT), NOWAIT on MySQL 8
        1205 | 3572 => Kind::Busy,
        // deadlock; MariaDB's "record has changed since last read"; lock table full; query interrupted, or too slow
        // (MySQL, MariaDB); statement to be prepared again, or unknown; rolled back by a plugin that replicates
        1213 | 1020 | 1206 | 1317 | 3024 | 1969 | 1615 | 1243 | 3100 | 3101 => Kind::Transient,
        // read-only by an option, as a transaction, as a server
        1290 | 1792 | 1836 => Kind::ReadOnly,
        // errors of files; disk, table or memory full; too many connections (of all, of the user), threads or
        // transactions; error of the storage engine, or while committing; a global read lock; Galera without a quorum
        3 | 1015 | 1016 | 1021 | 1026 | 1030 | 1037 | 1038 | 1040 | 1041 | 1047 | 1114 | 1135 | 1180
        | 1203 | 1223 | 1226 | 1637 => Kind::Unavailable,
        // shutdown, aborted, errors of the network, killed (MariaDB, MySQL), idle for too long, and what clients say
        1053 | 1077 | 1079 | 1152 | 1156..=1161 | 1184 | 1927 | 3169 | 4031 | 2000..=2999 => {
            Kind::ConnectionLost
        }
        // something refers to it; it refers to nothing
        1216 | 1217 | 1451 | 1452 => Kind::BadReference,
        // NULL, duplicate, row too large, packet too large, out of range, truncated, wrong date, another collation, not
        // of this set, wrong text, too long, not JSON, of a character set, too deep, too many placeholders, not of this collation, CHECK
        1048 | 1062 | 1118 | 1153 | 1264 | 1265 | 1267 | 1292 | 1300 | 1366 | 1390 | 1406 | 3140 | 3141
        | 3144 | 3157 | 3819 | 3988 | 4025 => Kind::BadValue,
        _ => Kind::Other,
    }
}

/// The extended codes carry the primary one in their low byte.
pub(crate) fn sqlite(code: i32) -> Kind {
    match (code, code & 0xff) {
        // a foreign key
        (787, _) => Kind::BadReference,
        // what a trigger raises is no constraint
        (1811, _) => Kind::Other,
        // busy, locked
        (_, 5 | 6) => Kind::Busy,
        (_, 8) => Kind::ReadOnly,
        // out of memory, interrupted, error of the file, full, cannot be opened, locking protocol, schema has changed
        (_, 7 | 9 | 10 | 13 | 14 | 15 | 17) => Kind::Unavailable,
        // too big, a constraint
        (_, 18 | 19) => Kind::BadValue,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_postgres() {
        assert_eq!(postgres("55P03"), Kind::Busy);
        assert_eq!(postgres("25006"), Kind::ReadOnly);
        assert_eq!(["40001", "40P01", "57014"].map(postgres), [Kind::Transient; 3]);
        assert_eq!(["57P01", "08006", "25P03"].map(postgres), [Kind::ConnectionLost; 3]);
        assert_eq!(["53100", "53300", "58030", "57000"].map(postgres), [Kind::Unavailable; 4]);
        assert_eq!(["22001", "22021", "22P05", "23505", "54000"].map(postgres), [Kind::BadValue; 5]);
        assert_eq!(
            ["XX000", "XX001", "XX002"].map(postgres),
            [Kind::Unavailable, Kind::BadValue, Kind::BadValue]
        );
        assert_eq!(["23503", "42501", ""].map(postgres), [Kind::BadReference, Kind::Other, Kind::Other]);
    }

    #[test]
    fn of_mysql() {
        assert_eq!([1205, 3572].map(mysql), [Kind::Busy; 2]);
        assert_eq!([1213, 3024, 1969, 1317].map(mysql), [Kind::Transient; 4]);
        assert_eq!([1290, 1836, 1792].map(mysql), [Kind::ReadOnly; 3]);
        assert_eq!([1021, 1114, 1040, 1180].map(mysql), [Kind::Unavailable; 4]);
        assert_eq!([2006, 2013, 1053, 1927].map(mysql), [Kind::ConnectionLost; 4]);
        assert_eq!([1406, 1062, 1267, 3157, 1390].map(mysql), [Kind::BadValue; 5]);
        assert_eq!([1452, 1142].map(mysql), [Kind::BadReference, Kind::Other]);
    }

    #[test]
    fn of_sqlite() {
        // 261 busy in recovery, 517 busy snapshot
        assert_eq!([5, 261, 517, 6].map(sqlite), [Kind::Busy; 4]);
        // 1032 the database was moved, 520 rollback of another is needed
        assert_eq!([8, 1032, 520].map(sqlite), [Kind::ReadOnly; 3]);
        // 13 full, 778 write, 1034 sync, 14 cannot open
        assert_eq!([13, 778, 1034, 14].map(sqlite), [Kind::Unavailable; 4]);
        // 1555 primary key, 2067 unique, 18 too big
        assert_eq!([1555, 2067, 18].map(sqlite), [Kind::BadValue; 3]);
        // 1811 a trigger
        assert_eq!([787, 1, 1811].map(sqlite), [Kind::BadReference, Kind::Other, Kind::Other]);
    }

    #[test]
    fn what_passes_is_repeated_and_what_is_wrong_is_not() {
        for code in ["25006", "57000", "53200", "58000", "40002", "08000", "57P03"] {
            assert!(postgres(code).is_transient(), "{code}");
        }
        for number in [1290, 1836, 1792, 1021, 3024, 1205, 1213, 2006, 2013] {
            assert!(mysql(number).is_transient(), "{number}");
        }
        for code in [5, 6, 8, 10, 13, 14] {
            assert!(sqlite(code).is_transient(), "{code}");
        }
        assert!(
            !postgres("22001").is_transient() && !mysql(1406).is_transient() && !sqlite(19).is_transient()
        );
    }
}
