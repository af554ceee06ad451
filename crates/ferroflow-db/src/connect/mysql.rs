//! MySQL 8 and MariaDB.

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Row as _};

use crate::connect::Trust;
use crate::connect::open::{
    FIRST_ANSWER, assemble, file, mode, no_answer_within, pool_options, unreachable, warn_of_unused, words,
};
use crate::connect::promptness::be_prompt;
use crate::transaction::db::Pool;
use crate::{ConnectError, DatabaseUrl, Db, Dialect, Options};

const SSL_MODES: &[(&str, MySqlSslMode)] = &[
    ("DISABLED", MySqlSslMode::Disabled),
    ("PREFERRED", MySqlSslMode::Preferred),
    ("REQUIRED", MySqlSslMode::Required),
    ("VERIFY_CA", MySqlSslMode::VerifyCa),
    ("VERIFY_IDENTITY", MySqlSslMode::VerifyIdentity),
];

const PARAMETERS: &[&str] = &[
    "charset",
    "ssl",
    "ssl_ca",
    "ssl_cert",
    "ssl_check_hostname",
    "ssl_key",
    "ssl_mode",
    "ssl_verify_cert",
    "ssl_verify_identity",
    "unix_socket",
];

pub(super) async fn connect(url: &DatabaseUrl, options: &Options) -> Result<Db, ConnectError> {
    warn_of_unused(url, PARAMETERS);
    let connect_options = connect_options(url, options)?;
    let (dialect, server) = first_answer(&connect_options).await?;
    let port = connect_options.get_port();
    let trust = Trust::default();
    let pool = pool_options::<sqlx::MySql>(options, &trust).after_connect(move |connection, _| {
        be_prompt(port);
        Box::pin(async move {
            // The official components ask for the same: with REPEATABLE READ a transaction that waited for a
            // lock would still see what was there before.
            connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
            Ok(())
        })
    });
    let pool = Pool::MySql(pool.connect_lazy_with(connect_options));
    Ok(assemble(pool, dialect, server, None, trust, options))
}

fn connect_options(url: &DatabaseUrl, options: &Options) -> Result<MySqlConnectOptions, ConnectError> {
    let mut connect = MySqlConnectOptions::new()
        .statement_cache_capacity(options.statement_cache)
        // What the driver sends, whatever the URL says of its Python counterpart.
        .charset("utf8mb4")
        .ssl_mode(ssl_mode(url)?)
        .disable_statement_logging();
    if let Some(socket) = url.parameter("unix_socket") {
        connect = connect.socket(socket);
    }
    if let Some(host) = url.host.as_deref() {
        connect = connect.host(host);
    }
    if let Some(port) = url.port {
        connect = connect.port(port);
    }
    if let Some(user) = url.username.as_deref() {
        connect = connect.username(user);
    }
    if let Some(password) = url.password.as_deref() {
        connect = connect.password(password);
    }
    if let Some(path) = file(url, "ssl_ca")? {
        connect = connect.ssl_ca(path);
    }
    if let Some(path) = file(url, "ssl_cert")? {
        connect = connect.ssl_client_cert(path);
    }
    if let Some(path) = file(url, "ssl_key")? {
        connect = connect.ssl_client_key(path);
    }
    Ok(connect.database(url.database.as_deref().ok_or(ConnectError::NoDatabaseNamed)?))
}

/// `mysqlclient` names a mode; `pymysql` verifies when it has an authority, unless told otherwise.
fn ssl_mode(url: &DatabaseUrl) -> Result<MySqlSslMode, ConnectError> {
    if let Some(mode) = mode(url, "ssl_mode", SSL_MODES)? {
        return Ok(mode);
    }
    let says =
        |name| url.parameter(name).map(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true"));
    Ok(match (url.parameter("ssl_ca"), says("ssl_verify_identity").or(says("ssl_check_hostname"))) {
        (_, Some(true)) => MySqlSslMode::VerifyIdentity,
        (Some(_), _) if says("ssl_verify_cert") != Some(false) => MySqlSslMode::VerifyCa,
        (Some(_), _) => MySqlSslMode::Required,
        (None, _) if says("ssl") == Some(true) => MySqlSslMode::Required,
        (None, _) => MySqlSslMode::Preferred,
    })
}

/// Connects once, and asks who answers.
async fn first_answer(options: &MySqlConnectOptions) -> Result<(Dialect, String), ConnectError> {
    let address = address(options);
    let connected = tokio::time::timeout(FIRST_ANSWER, options.connect());
    let connected = connected.await.unwrap_or_else(|_| no_answer_within(FIRST_ANSWER));
    let mut connection: MySqlConnection = connected.map_err(|error| explain(error, options, &address))?;
    let version = sqlx::query("SELECT VERSION() AS version")
        .fetch_one(&mut connection)
        .await
        .and_then(|row| row.try_get::<String, _>("version"))
        .map_err(|error| explain(error, options, &address))?;
    drop(connection.close().await);
    identify(&version)
}

/// MariaDB says so in its version. Both need `SKIP LOCKED`.
fn identify(version: &str) -> Result<(Dialect, String), ConnectError> {
    let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
    // Old clients made MariaDB announce itself as 5.5.5-10.11.2-MariaDB.
    let number = version.strip_prefix("5.5.5-").unwrap_or(version).split('-').next().unwrap_or("");
    let mut parts = number.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let (dialect, oldest, needed) = if is_mariadb {
        (Dialect::MariaDb, (10, 7, 0), "MariaDB 10.7 or newer, for SKIP LOCKED and the UUID type")
    } else {
        (Dialect::MySql, (8, 0, 1), "MySQL 8.0.1 or newer, for SKIP LOCKED")
    };
    let server = format!("{dialect} {number}");
    if found < oldest { Err(ConnectError::TooOld { server, needed }) } else { Ok((dialect, server)) }
}

fn address(options: &MySqlConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

fn explain(error: sqlx::Error, options: &MySqlConnectOptions, address: &str) -> ConnectError {
    let (dialect, address) = (Dialect::MySql, address.to_owned());
    let number = error
        .as_database_error()
        .and_then(|error| error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>())
        .map(sqlx::mysql::MySqlDatabaseError::number);
    let reason = words(&error);
    match (number, error) {
        // access denied; no such user with that authentication plugin
        (Some(1045 | 1698), _) => {
            ConnectError::LoginRefused { dialect, address, user: options.get_username().to_owned(), reason }
        }
        // A user without rights on a database is told the same whether it exists or not.
        (Some(1049 | 1044), _) => {
            let database = options.get_database().unwrap_or("").to_owned();
            let user = options.get_username().to_owned();
            ConnectError::NoSuchDatabase { dialect, address, database, user }
        }
        (_, sqlx::Error::Io(error)) => unreachable(dialect, address, &error),
        _ => ConnectError::Other { dialect, address, reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_apart_by_their_version() {
        for (version, expected) in [
            ("8.0.36", "MySQL 8.0.36"),
            ("8.4.2-1debian", "MySQL 8.4.2"),
            ("10.11.6-MariaDB-0+deb12u1", "MariaDB 10.11.6"),
            ("5.5.5-10.7.3-MariaDB", "MariaDB 10.7.3"),
        ] {
            assert_eq!(identify(version).unwrap().1, expected);
        }
        for version in ["5.7.44", "10.6.22-MariaDB", "8.0.0"] {
            assert!(matches!(identify(version), Err(ConnectError::TooOld { .. })), "{version}");
        }
    }

    #[test]
    fn ssl_options_of_both_python_drivers_are_understood() {
        for (query, expected) in [
            ("", "Preferred"),
            ("ssl_mode=REQUIRED", "Required"),
            ("ssl_mode=verify_identity&ssl_ca=/ca.pem", "VerifyIdentity"),
            ("ssl_ca=/ca.pem", "VerifyCa"),
            ("ssl_ca=/ca.pem&ssl_verify_cert=false", "Required"),
            ("ssl_ca=/ca.pem&ssl_verify_identity=true", "VerifyIdentity"),
            ("ssl=true", "Required"),
        ] {
            let url = DatabaseUrl::parse(&format!("mysql://u@h/d?{query}")).unwrap();
            assert_eq!(format!("{:?}", ssl_mode(&url).unwrap()), expected, "{query}");
        }
        let url = DatabaseUrl::parse("mysql://u@h/d?ssl_mode=maybe").unwrap();
        assert!(ssl_mode(&url).unwrap_err().to_string().contains("VERIFY_CA"));
    }
}
