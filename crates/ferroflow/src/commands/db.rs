//! `ferroflow db`

mod archived;
mod asked_tables;
mod clean;

use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use ferroflow_config::Environment;
use ferroflow_db::notifications::triggers;
use ferroflow_db::schema::{self, Migrated, REVISION, State};
use ferroflow_db::{ConnectError, Db, Error, ScopedFutureExt as _};

use crate::session::{Session, block_on};

#[derive(Subcommand)]
pub(crate) enum DbCommand {
    /// Create all tables in an empty database; change nothing in a current one
    ///
    /// A SQLite file is made if it is missing; on PostgreSQL and MySQL the database has to exist and be empty.
    /// A database of another Airflow version, or with tables of something else, is refused.
    Migrate,
    /// Try to connect, and say what is there; fails only if the database cannot be reached
    Check(CheckArgs),
    /// Succeed when the tables are there and of the right revision, waiting for it if asked to
    CheckMigrations(CheckMigrationsArgs),
    /// Delete old rows: of runs, task instances, logs of who did what, and much else
    Clean(clean::CleanArgs),
    /// Drop the tables that `db clean` has kept old rows in
    DropArchived(archived::DropArgs),
    /// Write the tables that `db clean` has kept old rows in to files
    ExportArchived(archived::ExportArgs),
    /// Drop every Airflow table with all that is in it, and create them anew
    Reset(ResetArgs),
    /// Print the revision of the database
    Current,
    /// Have official Airflow components tell ferroflow schedulers what they change (PostgreSQL)
    ///
    /// `--install` puts triggers on tables of Airflow, which call functions in a schema `ferroflow_news`; `--remove` drops
    /// them. Without either, says which are there. Nothing depends on them: schedulers find changes by themselves,
    /// only later.
    Notify(NotifyArgs),
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// How often to try again
    #[arg(long, default_value_t = 0)]
    retry: u32,
    /// Seconds between two tries
    #[arg(long, default_value_t = 1)]
    retry_delay: u64,
}

#[derive(Args)]
pub(crate) struct CheckMigrationsArgs {
    /// Seconds to wait for another process to create or migrate the tables
    #[arg(short = 't', long, default_value_t = 60)]
    migration_wait_timeout: u64,
}

#[derive(Args)]
pub(crate) struct NotifyArgs {
    /// Install the triggers, or replace those of another version
    #[arg(long, conflicts_with = "remove")]
    install: bool,
    /// Remove the triggers
    #[arg(long)]
    remove: bool,
}

#[derive(Args)]
pub(crate) struct ResetArgs {
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(command: &DbCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start(environment)?;
    block_on(async {
        match command {
            DbCommand::Migrate => migrate(&session, out).await,
            DbCommand::Check(args) => check(&session, args, out).await,
            DbCommand::CheckMigrations(args) => check_migrations(&session, args, out).await,
            DbCommand::Clean(args) => clean::run(&session, args, out).await,
            DbCommand::DropArchived(args) => archived::drop_all(&session, args, out).await,
            DbCommand::ExportArchived(args) => archived::export(&session, args, out).await,
            DbCommand::Reset(args) => reset(&session, args, out).await,
            DbCommand::Current => current(&session, out).await,
            DbCommand::Notify(args) => notify(&session, args, out).await,
        }
    })
}

/// Creates the tables if there are none, and says what was done.
pub(crate) async fn migrate(session: &Session, out: &mut dyn Write) -> Result<()> {
    let creation = session.creation()?;
    if let Some(managers) = &session.settings.database.external_db_managers {
        let managers = managers.join(", ");
        tracing::warn!(
            "[database] external_db_managers: the tables of {managers} are made by `airflow db migrate` only"
        );
    }
    let db = session.connect_to_create().await?;
    let place = place(session, &db)?;
    match schema::migrate(&db, &creation).await? {
        Migrated::UpToDate => writeln!(out, "up to date: {place} is at revision {REVISION}")?,
        Migrated::Created { tables, resumed } => {
            if resumed {
                writeln!(out, "dropped what an interrupted creation had left")?;
            }
            writeln!(out, "created {tables} tables in {place}, at revision {REVISION}")?;
        }
    }
    db.close().await;
    Ok(())
}

async fn check(session: &Session, args: &CheckArgs, out: &mut dyn Write) -> Result<()> {
    let mut tries_left = args.retry;
    let db = loop {
        match session.connect().await.map_err(anyhow::Error::from) {
            Ok(db) => break db,
            Err(error) if tries_left > 0 && !is_misconfigured(&error) => {
                tracing::warn!("{error:#}; {tries_left} more tries");
                tokio::time::sleep(Duration::from_secs(args.retry_delay)).await;
                tries_left -= 1;
            }
            Err(error) => return Err(error),
        }
    };
    let found = match schema::check(&db).await {
        Ok(()) => format!("tables at revision {REVISION}"),
        Err(Error::Refused(refusal)) => refusal.to_string(),
        Err(error) => return Err(error.into()),
    };
    writeln!(out, "connected to {}: {found}", place(session, &db)?)?;
    db.close().await;
    Ok(())
}

/// Whether it is the URL that is wrong, which no waiting mends.
fn is_misconfigured(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(
            ConnectError::Url(_)
                | ConnectError::BadParameter { .. }
                | ConnectError::NoDatabaseNamed
                | ConnectError::SqliteNotAbsolute(_)
        )
    )
}

async fn check_migrations(session: &Session, args: &CheckMigrationsArgs, out: &mut dyn Write) -> Result<()> {
    let mut seconds_left = args.migration_wait_timeout;
    loop {
        match missing(session).await? {
            None => break,
            Some(error) if seconds_left == 0 => return Err(error),
            Some(error) => {
                if seconds_left == args.migration_wait_timeout {
                    tracing::warn!("{error:#}; waiting up to {seconds_left} s for it to happen");
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
                seconds_left -= 1;
            }
        }
    }
    writeln!(out, "tables are at revision {REVISION}")?;
    Ok(())
}

/// What is missing for the tables to be right.
async fn missing(session: &Session) -> Result<Option<anyhow::Error>> {
    let db = match session.connect().await.map_err(anyhow::Error::from) {
        Ok(db) => db,
        // The file is made by whoever makes the tables.
        Err(error) if matches!(error.downcast_ref(), Some(ConnectError::SqliteMissing(_))) => {
            return Ok(Some(error));
        }
        Err(error) => return Err(error),
    };
    let outcome = schema::check(&db).await;
    db.close().await;
    match outcome {
        Ok(()) => Ok(None),
        Err(error @ Error::Refused(_)) => Ok(Some(error.into())),
        Err(error) => Err(error.into()),
    }
}

async fn reset(session: &Session, args: &ResetArgs, out: &mut dyn Write) -> Result<()> {
    let creation = session.creation()?;
    if !args.yes {
        let place = session.database_url()?;
        confirm(
            &format!("This drops every Airflow table in {place}, with all runs, variables and connections."),
            out,
        )?;
    }
    let db = session.connect_to_create().await?;
    let place = place(session, &db)?;
    if let Migrated::Created { tables, .. } = schema::reset(&db, &creation).await? {
        writeln!(out, "created {tables} tables anew in {place}, at revision {REVISION}")?;
    }
    db.close().await;
    Ok(())
}

async fn current(session: &Session, out: &mut dyn Write) -> Result<()> {
    let db = session.connect().await?;
    match schema::state(&db).await? {
        State::Current | State::Damaged { .. } => writeln!(out, "{REVISION} (Airflow 3.3)")?,
        State::Other { revision } => writeln!(out, "{revision}")?,
        State::Empty | State::Interrupted | State::Foreign { .. } => schema::check(&db).await?,
    }
    db.close().await;
    Ok(())
}

async fn notify(session: &Session, args: &NotifyArgs, out: &mut dyn Write) -> Result<()> {
    let db = session.connect().await?;
    if !triggers::are_possible(db.dialect()) {
        bail!("{} cannot tell anybody of changes; PostgreSQL can", db.dialect());
    }
    schema::check(&db).await?;
    match (args.install, args.remove) {
        (true, _) => triggers::install(&db).await?,
        (_, true) => triggers::remove(&db).await?,
        _ => {}
    }
    let mut ours = db.read(|tx| triggers::installed(tx).scope_boxed()).await?;
    ours.retain(|trigger| trigger.is_ours);
    if ours.is_empty() {
        writeln!(out, "no triggers: changes of official components are found by looking")?;
    }
    for trigger in ours {
        writeln!(out, "{} {}", trigger.table, trigger.name)?;
    }
    db.close().await;
    Ok(())
}

/// The database in words: server, version and URL, without the password.
fn place(session: &Session, db: &Db) -> Result<String> {
    Ok(format!("{} ({})", session.database_url()?, db.server()))
}

fn confirm(warning: &str, out: &mut dyn Write) -> Result<()> {
    if !io::stdin().is_terminal() {
        bail!("{warning} Nothing was done: confirm with --yes");
    }
    write!(out, "{warning}\nType yes to go on: ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if matches!(answer.trim(), "yes" | "y") { Ok(()) } else { bail!("nothing was done") }
}
