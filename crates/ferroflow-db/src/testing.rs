//! What tests do to a database server: make and drop whole databases, and run SQL of their own.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use sqlx::{Connection as _, Executor as _, MySqlConnection, PgConnection, SqliteConnection};
use tokio::sync::Notify;

use crate::schema::ddl_statements;
use crate::transaction::db::Pool;
use crate::{DatabaseUrl, Db, Dialect, Error, Family, ScopedFutureExt as _, Tx};

/// Runs statements outside any transaction, with values written into them.
pub async fn execute(url: &str, statements: &[String]) -> Result<(), sqlx::Error> {
    let family = DatabaseUrl::parse(url).map_err(|error| sqlx::Error::Configuration(error.into()))?.family;
    for statement in statements {
        let statement = sqlx::AssertSqlSafe(statement.clone());
        match family {
            Family::Postgres => PgConnection::connect(url).await?.execute(statement).await.map(drop)?,
            Family::MySql => MySqlConnection::connect(url).await?.execute(statement).await.map(drop)?,
            Family::Sqlite => SqliteConnection::connect(url).await?.execute(statement).await.map(drop)?,
        }
    }
    Ok(())
}

/// Ends every connection to a database.
pub async fn disconnect_everybody(server: &str, database: &str) -> Result<(), sqlx::Error> {
    if server.starts_with("postgres") {
        let mut connection = PgConnection::connect(server).await?;
        let end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1";
        sqlx::query(end).bind(database).execute(&mut connection).await?;
        return connection.close().await;
    }
    let mut connection = MySqlConnection::connect(server).await?;
    let found =
        sqlx::query_scalar("SELECT id FROM information_schema.processlist WHERE db = ?").bind(database);
    let ids: Vec<i64> = found.fetch_all(&mut connection).await?;
    for id in ids {
        connection.execute(sqlx::AssertSqlSafe(format!("KILL CONNECTION {id}"))).await?;
    }
    connection.close().await
}

/// The statements that a database and its clones have run, each with whether it has found or changed a row.
pub fn statements_run(db: &Db) -> BTreeMap<&'static str, bool> {
    db.ran.all()
}

/// The text in each row of a query with one column, `answer`, which is never NULL.
pub async fn texts(db: &Db, question: &str) -> Result<Vec<String>, Error> {
    db.read(|tx| {
        async move {
            let rows = tx.fetch_text("asking for texts", question, Vec::new()).await?;
            rows.iter().map(|row| row.get("answer")).collect()
        }
        .scope_boxed()
    })
    .await
}

/// For how many seconds a transaction on MariaDB or MySQL waits for a row.
pub async fn lock_wait(tx: &mut Tx) -> Result<String, Error> {
    let question = "SELECT CAST(@@innodb_lock_wait_timeout AS CHAR) AS answer";
    let rows = tx.fetch_text("asking for patience", question, Vec::new()).await?;
    rows.first().map_or(Ok(String::new()), |row| row.get("answer"))
}

/// Runs a statement with values written into it, in a transaction of its own on a connection that is there. Returns how
/// many rows it changed.
pub async fn change(db: &Db, statement: &str) -> Result<u64, Error> {
    db.transact(|tx| {
        async move { tx.execute_text("changing as a test wants", statement, Vec::new()).await }.scope_boxed()
    })
    .await
}

/// The same in a transaction that stays open until it may end: others find the rows locked.
pub async fn change_and_hold(
    db: &Db,
    statement: &str,
    changed: &Notify,
    may_end: &Notify,
) -> Result<(), Error> {
    db.transact(|tx| {
        async move {
            tx.execute_text("changing as a test wants", statement, Vec::new()).await?;
            changed.notify_one();
            may_end.notified().await;
            Ok(())
        }
        .scope_boxed()
    })
    .await
}

/// Has nothing fit into the file of SQLite any more that does not yet, as a connection sees it; or again.
pub async fn limit_sqlite_size(db: &Db, is_full: bool) -> Result<(), sqlx::Error> {
    // No file gets smaller than it is.
    let most = if is_full { 1 } else { i32::MAX };
    let Pool::Sqlite(pool) = &db.pool else { return Ok(()) };
    let limit = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {most}"));
    pool.acquire().await?.execute(limit).await.map(drop)
}

/// Whether a connection to PostgreSQL or MySQL is encrypted.
pub async fn is_encrypted(db: &Db) -> Result<bool, Error> {
    let question = match db.dialect() {
        Dialect::Postgres => {
            "SELECT CAST(ssl AS text) AS answer FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        }
        _ => {
            "SELECT variable_value AS answer FROM information_schema.session_status \
             WHERE variable_name = 'Ssl_version'"
        }
    };
    db.transact(|tx| {
        async move {
            let rows = tx.fetch_text("asking for encryption", question, Vec::new()).await?;
            let answer: String = rows.first().map_or(Ok(String::new()), |row| row.get("answer"))?;
            Ok(!matches!(answer.as_str(), "" | "false"))
        }
        .scope_boxed()
    })
    .await
}

/// A name that changes with the schema: a database of that name has it as it is now.
pub fn schema_fingerprint(dialect: Dialect) -> String {
    let mut hasher = DefaultHasher::new();
    ddl_statements(dialect).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The statements that make the tables, as a JSON array.
pub fn ddl_as_json(dialect: Dialect) -> String {
    serde_json::Value::from(ddl_statements(dialect)).to_string()
}

/// The tables of a database of MariaDB, by their names, and the statement that makes each as it is.
pub async fn mariadb_tables(url: &str) -> Result<Vec<(String, String)>, sqlx::Error> {
    let mut connection = MySqlConnection::connect(url).await?;
    let names = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name";
    let names: Vec<String> = sqlx::query_scalar(names).fetch_all(&mut connection).await?;
    let mut tables = Vec::new();
    for name in names {
        let question = sqlx::AssertSqlSafe(format!("SHOW CREATE TABLE `{name}`"));
        tables.push(sqlx::query_as(question).fetch_one(&mut connection).await?);
    }
    connection.close().await?;
    Ok(tables)
}

/// Makes the template database `name` by `make`, which is given a name to make it under, unless it is there.
/// Any number of processes may ask at once: one makes it, the others wait.
pub async fn ensure_postgres_template<E: From<sqlx::Error>>(
    server: &str,
    name: &str,
    make: impl AsyncFnOnce(&str) -> Result<(), E>,
) -> Result<(), E> {
    let mut connection = PgConnection::connect(server).await?;
    connection.execute("SELECT pg_advisory_lock(20261115)").await?;
    let found = sqlx::query("SELECT 1 FROM pg_database WHERE datname = $1").bind(name);
    if found.fetch_optional(&mut connection).await?.is_none() {
        // Made under another name, so that a half-made one is never copied.
        let unfinished = format!("{name}_unfinished");
        for statement in
            [format!("DROP DATABASE IF EXISTS {unfinished}"), format!("CREATE DATABASE {unfinished}")]
        {
            connection.execute(sqlx::AssertSqlSafe(statement)).await?;
        }
        make(&unfinished).await?;
        let rename = format!("ALTER DATABASE {unfinished} RENAME TO {name}");
        connection.execute(sqlx::AssertSqlSafe(rename)).await?;
    }
    // Closing the connection gives the lock back.
    Ok(connection.close().await?)
}
