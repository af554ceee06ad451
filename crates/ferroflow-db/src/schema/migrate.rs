use super::{Refusal, State, ddl, inspect};
use std::time::Duration;

use jiff::Timestamp;
use scoped_futures::ScopedFutureExt as _;

use crate::log_template::{self, LogTemplates};
use crate::statement::{binds, sql};
use crate::transaction::db::ConfiguredSchema;
use crate::{Db, Dialect, Error, Tx, pool};

/// The alembic revision of Airflow 3.3.x, which this crate speaks.
pub const REVISION: &str = "d2f4e1b3c5a7";

/// What the first rows and the columns depend on.
#[derive(Clone, Debug)]
pub struct Creation {
    /// `[database] sql_engine_collation_for_ids`: MySQL and MariaDB only.
    pub id_collation: Option<String>,
    /// `[core] default_pool_task_slot_count`.
    pub default_pool_slots: i32,
    /// The log templates of the configuration.
    pub log_templates: LogTemplates,
    /// When it happens.
    pub now: Timestamp,
}

/// What `migrate` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migrated {
    /// The tables were there. A default pool or log template that the configuration asks for is, too, now.
    UpToDate,
    /// All tables were made.
    Created {
        /// How many.
        tables: usize,
        /// Whether what an interrupted creation had left was dropped before.
        resumed: bool,
    },
}

/// Creates everything in an empty database; leaves a current one as it is; refuses any other.
pub async fn migrate(db: &Db, creation: &Creation) -> Result<Migrated, Error> {
    prepare_file(db).await?;
    db.transact(|tx| {
        async move {
            lock(tx).await?;
            let outcome = migrate_locked(tx, creation).await;
            unlock(tx, outcome).await
        }
        .scope_boxed()
    })
    .await
}

/// Drops every table of Airflow and makes it anew. Tables of others stay.
pub async fn reset(db: &Db, creation: &Creation) -> Result<Migrated, Error> {
    prepare_file(db).await?;
    db.transact(|tx| {
        async move {
            lock(tx).await?;
            let outcome = reset_locked(tx, creation).await;
            unlock(tx, outcome).await
        }
        .scope_boxed()
    })
    .await
}

/// What is there.
pub async fn state(db: &Db) -> Result<State, Error> {
    db.read(|tx| async move { inspect::state(tx).await }.scope_boxed()).await
}

/// An error, with what to do, unless the tables are those of [`REVISION`].
pub async fn check(db: &Db) -> Result<(), Error> {
    match Refusal::of(state(db).await?) {
        None => Ok(()),
        Some(refusal) => Err(refusal.into()),
    }
}

/// The statements that make the tables.
#[cfg(feature = "testing")]
pub(crate) fn ddl_statements(dialect: Dialect) -> Vec<String> {
    ddl::statements(dialect, None)
}

/// Puts a SQLite file that is about to get its tables into WAL mode, which no transaction can do. The mode
/// stays with the file. Any other file is left as it is.
async fn prepare_file(db: &Db) -> Result<(), Error> {
    while db.dialect() == Dialect::Sqlite && state(db).await? == State::Empty {
        match db.use_write_ahead_log().await {
            // Another process is at it, or makes the tables already: look again.
            Err(error) if error.is_busy() => tokio::time::sleep(Duration::from_millis(20)).await,
            outcome => return outcome,
        }
    }
    Ok(())
}

async fn migrate_locked(tx: &mut Tx, creation: &Creation) -> Result<Migrated, Error> {
    match inspect::state(tx).await? {
        State::Current => {
            seed(tx, creation).await?;
            Ok(Migrated::UpToDate)
        }
        State::Empty => create(tx, creation, false).await,
        State::Interrupted => {
            drop_tables(tx).await?;
            create(tx, creation, true).await
        }
        other => Err(refused(other)),
    }
}

async fn reset_locked(tx: &mut Tx, creation: &Creation) -> Result<Migrated, Error> {
    match inspect::state(tx).await? {
        State::Current | State::Damaged { .. } | State::Interrupted | State::Empty => {}
        other => return Err(refused(other)),
    }
    drop_tables(tx).await?;
    create(tx, creation, false).await
}

fn refused(state: State) -> Error {
    Refusal::of(state).map_or_else(|| unreachable!("a current database is not refused"), Error::from)
}

async fn create(tx: &mut Tx, creation: &Creation, resumed: bool) -> Result<Migrated, Error> {
    let what = "creating the tables";
    for statement in ddl::statements(tx.dialect(), creation.id_collation.as_deref()) {
        match tx.configured_schema().cloned() {
            // Airflow keeps this table outside the configured schema, and would not find it inside.
            Some(schema) if statement.starts_with("CREATE TABLE alembic_version") => {
                tx.execute_text(what, ConfiguredSchema::PUT_ASIDE, Vec::new()).await?;
                tx.execute_text(what, &statement, Vec::new()).await?;
                tx.execute_text(what, &schema.put_first(), Vec::new()).await?;
            }
            _ => {
                tx.execute_text(what, &statement, Vec::new()).await?;
            }
        }
    }
    seed(tx, creation).await?;
    tx.execute(sql!("alembic_version/insert"), binds![REVISION]).await?;
    Ok(Migrated::Created { tables: ddl::table_names().len(), resumed })
}

/// The rows that every database of Airflow has.
async fn seed(tx: &mut Tx, creation: &Creation) -> Result<(), Error> {
    pool::add_default_if_missing(tx, creation.default_pool_slots).await?;
    log_template::synchronize(tx, &creation.log_templates, creation.now).await
}

async fn drop_tables(tx: &mut Tx) -> Result<(), Error> {
    let dialect = tx.dialect();
    let present = inspect::table_names(tx).await?;
    let mut ours = ddl::table_names();
    ours.retain(|table| present.iter().any(|name| name == table));
    // Each before those it refers to; the revision last, so that what a crash leaves is still known for ours.
    ours.reverse();
    ours.sort_by_key(|table| *table == "alembic_version");
    let ours: Vec<String> = ours.into_iter().map(|table| dialect.quote(table)).collect();
    if ours.is_empty() {
        return Ok(());
    }
    let together = format!("DROP TABLE {}", ours.join(", "));
    match dialect {
        // Together, so that no foreign key among them is in the way.
        Dialect::Postgres => drop_by(tx, &together).await,
        Dialect::MySql | Dialect::MariaDb => {
            drop_by(tx, "SET foreign_key_checks = 0").await?;
            let dropped = drop_by(tx, &together).await;
            // The connection goes back to the pool, whatever became of it.
            drop_by(tx, "SET foreign_key_checks = 1").await?;
            dropped
        }
        Dialect::Sqlite => {
            drop_by(tx, "PRAGMA defer_foreign_keys = ON").await?;
            for table in ours {
                drop_by(tx, &format!("DROP TABLE {table}")).await?;
            }
            Ok(())
        }
    }
}

async fn drop_by(tx: &mut Tx, statement: &str) -> Result<(), Error> {
    tx.execute_text("dropping the tables", statement, Vec::new()).await.map(drop)
}

/// The lock under which official components migrate. SQLite's transaction is the lock.
async fn lock(tx: &mut Tx) -> Result<(), Error> {
    match tx.dialect() {
        Dialect::Postgres => {
            tx.fetch_all(sql!("schema/lock_postgres"), Vec::new()).await?;
        }
        Dialect::MySql | Dialect::MariaDb => {
            let row = tx.fetch_optional(sql!("schema/lock_mysql"), Vec::new()).await?;
            let granted = row.map(|row| row.optional::<i64>("granted")).transpose()?.flatten();
            if granted != Some(1) {
                return Err(Refusal::MigrationRunning.into());
            }
        }
        Dialect::Sqlite => {}
    }
    Ok(())
}

/// PostgreSQL's lock ends with the transaction. MySQL's would stay with the connection, which goes back to the
/// pool, whatever became of the work.
async fn unlock<T>(tx: &mut Tx, outcome: Result<T, Error>) -> Result<T, Error> {
    if tx.dialect().is_mysql_family() {
        let unlocked = tx.fetch_all(sql!("schema/unlock_mysql"), Vec::new()).await;
        // Why the work failed is what to tell; unlocking fails only if the connection broke, which unlocks.
        return outcome.and_then(|value| unlocked.map(|_| value));
    }
    outcome
}
