//! PostgreSQL, directly or behind PgBouncer.

use std::borrow::Cow;
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};

use crate::connect::Trust;
use crate::connect::open::{
    FIRST_ANSWER, assemble, file, mode, no_answer_within, number, pool_options, unreachable, warn_of_unused,
    words,
};
use crate::connect::promptness::be_prompt;
use crate::transaction::db::{ConfiguredSchema, Pool};
use crate::{ConnectError, DatabaseUrl, Db, Dialect, Options};

const SSL_MODES: &[(&str, PgSslMode)] = &[
    ("disable", PgSslMode::Disable),
    ("allow", PgSslMode::Allow),
    ("prefer", PgSslMode::Prefer),
    ("require", PgSslMode::Require),
    ("verify-ca", PgSslMode::VerifyCa),
    ("verify-full", PgSslMode::VerifyFull),
];

const PARAMETERS: &[&str] = &[
    "application_name",
    "connect_timeout",
    "host",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];

pub(super) async fn connect(url: &DatabaseUrl, options: &Options) -> Result<Db, ConnectError> {
    warn_of_unused(url, PARAMETERS);
    let connect_options = connect_options(url, options)?;
    let (server, default_path) = first_answer(&connect_options, url).await?;
    let port = connect_options.get_port();
    let trust = Trust::default();
    let pool = pool_options::<sqlx::Postgres>(options, &trust).after_connect(move |_, _| {
        be_prompt(port);
        Box::pin(async { Ok(()) })
    });
    let pool = Pool::Postgres(pool.connect_lazy_with(connect_options));
    let schema = options.schema.clone().map(|name| ConfiguredSchema { name, default_path });
    Ok(assemble(pool, Dialect::Postgres, server, schema, trust, options))
}

fn connect_options(url: &DatabaseUrl, options: &Options) -> Result<PgConnectOptions, ConnectError> {
    // libpq's own rules: a parameter wins over the URL's place for it, and a host with a slash is the folder
    // of a socket.
    let mut connect = PgConnectOptions::new_without_pgpass()
        .statement_cache_capacity(options.statement_cache)
        // PgBouncer refuses a start-up parameter that it does not know, and the server's default is exact.
        .extra_float_digits(None)
        .application_name(url.parameter("application_name").unwrap_or("ferroflow"))
        .ssl_mode(mode(url, "sslmode", SSL_MODES)?.unwrap_or(PgSslMode::Prefer))
        .disable_statement_logging();
    if let Some(host) = url.parameter("host").or(url.host.as_deref()) {
        connect = if host.starts_with('/') { connect.socket(host) } else { connect.host(host) };
    }
    if let Some(port) = number(url, "port")?.or(url.port) {
        connect = connect.port(port);
    }
    if let Some(user) = url.parameter("user").or(url.username.as_deref()) {
        connect = connect.username(user);
    }
    if let Some(password) = url.parameter("password").or(url.password.as_deref()) {
        connect = connect.password(password);
    }
    if let Some(database) = url.database.as_deref() {
        connect = connect.database(database);
    }
    if let Some(path) = file(url, "sslrootcert")? {
        // As in libpq: with an authority in the URL, certificates are checked by it.
        if matches!(connect.get_ssl_mode(), PgSslMode::Require) {
            connect = connect.ssl_mode(PgSslMode::VerifyCa);
        }
        connect = connect.ssl_root_cert(path);
    }
    if let Some(path) = file(url, "sslcert")? {
        connect = connect.ssl_client_cert(path);
    }
    if let Some(path) = file(url, "sslkey")? {
        connect = connect.ssl_client_key(path);
    }
    Ok(connect)
}

/// Connects once, and asks who answers and where a connection looks for tables.
async fn first_answer(
    options: &PgConnectOptions,
    url: &DatabaseUrl,
) -> Result<(String, String), ConnectError> {
    let address = address(options);
    let limit = match number(url, "connect_timeout")? {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => FIRST_ANSWER,
    };
    let connected =
        tokio::time::timeout(limit, options.connect()).await.unwrap_or_else(|_| no_answer_within(limit));
    let mut connection = connected.map_err(|error| explain(error, options, &address))?;
    let question =
        "SELECT current_setting('server_version') AS version, current_setting('search_path') AS path";
    let (version, path) = sqlx::query(question)
        .persistent(false)
        .fetch_one(&mut connection)
        .await
        .and_then(|row| Ok((row.try_get::<String, _>("version")?, row.try_get::<String, _>("path")?)))
        .map_err(|error| explain(error, options, &address))?;
    drop(connection.close().await);
    let server = format!("PostgreSQL {version}");
    let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    if major < 13 {
        return Err(ConnectError::TooOld { server, needed: "PostgreSQL 13 or newer" });
    }
    Ok((server, path))
}

fn address(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(folder) => format!("{}/.s.PGSQL.{}", folder.display(), options.get_port()),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

fn explain(error: sqlx::Error, options: &PgConnectOptions, address: &str) -> ConnectError {
    let (dialect, address) = (Dialect::Postgres, address.to_owned());
    let code = error.as_database_error().and_then(DatabaseError::code).map(Cow::into_owned);
    let reason = words(&error);
    match (code.as_deref(), error) {
        (Some("28P01" | "28000"), _) => {
            ConnectError::LoginRefused { dialect, address, user: options.get_username().to_owned(), reason }
        }
        (Some("3D000"), _) => {
            let database = options.get_database().unwrap_or(options.get_username()).to_owned();
            let user = options.get_username().to_owned();
            ConnectError::NoSuchDatabase { dialect, address, database, user }
        }
        (_, sqlx::Error::Io(error)) => unreachable(dialect, address, &error),
        _ => ConnectError::Other { dialect, address, reason },
    }
}
