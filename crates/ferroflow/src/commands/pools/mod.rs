//! `ferroflow pools`

mod file;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use ferroflow_config::{Environment, nearest};
use ferroflow_db::pool::{self, DEFAULT_POOL, DescribedPool};
use ferroflow_db::{Db, ScopedFutureExt as _};

use super::audit::{AuditAction, note_deed};
use super::dags::stored;
use crate::output::{Cell, Format, OutputArgs, Records};
use crate::session::{Session, block_on};

#[derive(Debug, Subcommand)]
pub(crate) enum PoolsCommand {
    /// Delete a pool
    Delete(NameArgs),
    /// Write all pools to a JSON file
    Export(FileArgs),
    /// Show a pool
    Get(NameArgs),
    /// Make or change the pools that a JSON file has
    Import(FileArgs),
    /// List the pools
    List(ListArgs),
    /// Make or change a pool
    Set(SetArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
pub(crate) struct NameArgs {
    /// The pool
    #[arg(value_name = "NAME")]
    pool: String,
    #[command(flatten)]
    rest: ListArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow pools set warehouse 4 'at most four queries at once'
  ferroflow pools set warehouse 4 '' --include-deferred")]
pub(crate) struct SetArgs {
    /// The pool
    #[arg(value_name = "NAME")]
    pool: String,
    /// How many slots it has; -1 sets no limit
    #[arg(allow_negative_numbers = true)]
    slots: i32,
    /// What it is for
    description: String,
    /// Deferred task instances keep their slots
    #[arg(long)]
    include_deferred: bool,
    /// The team it belongs to, where there are teams
    #[arg(long, value_name = "NAME")]
    team_name: Option<String>,
    #[command(flatten)]
    rest: ListArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "The file:
  {\"warehouse\": {\"slots\": 4, \"description\": \"\", \"include_deferred\": false}}")]
pub(crate) struct FileArgs {
    /// The file
    #[arg(value_name = "FILEPATH")]
    file: PathBuf,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

pub(crate) fn run(command: &PoolsCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start_quietly(environment)?;
    block_on(async {
        let db = stored::connect(&session).await?;
        let note =
            async |event| note_deed(&session, &db, &AuditAction { event, ..AuditAction::default() }).await;
        match command {
            PoolsCommand::List(args) => print(&list(&db).await?, args.output.output, out),
            PoolsCommand::Get(args) => print(&[find(&db, &args.pool).await?], args.rest.output.output, out),
            PoolsCommand::Set(args) => {
                note("pool_set").await;
                let pool = DescribedPool {
                    name: args.pool.clone(),
                    slots: args.slots,
                    description: Some(args.description.clone()),
                    include_deferred: args.include_deferred,
                    team_name: args.team_name.clone(),
                };
                set(&session, &db, &pool).await?;
                Ok(writeln!(out, "Pool {} created", args.pool)?)
            }
            PoolsCommand::Delete(args) => {
                note("pool_delete").await;
                delete(&db, &args.pool).await?;
                Ok(writeln!(out, "Pool {} deleted", args.pool)?)
            }
            PoolsCommand::Import(args) => {
                note("pool_import").await;
                let number = file::import(&session, &db, &args.file).await?;
                Ok(writeln!(out, "Uploaded {number} pool(s)")?)
            }
            PoolsCommand::Export(args) => {
                let number = file::export(&list(&db).await?, &args.file)?;
                Ok(writeln!(out, "Exported {number} pools to {}", args.file.display())?)
            }
        }
    })
}

async fn list(db: &Db) -> Result<Vec<DescribedPool>> {
    Ok(db.read(|tx| async move { pool::list(tx).await }.scope_boxed()).await?)
}

async fn find(db: &Db, name: &str) -> Result<DescribedPool> {
    let mut pools = list(db).await?;
    match pools.iter().position(|pool| pool.name == name) {
        Some(at) => Ok(pools.swap_remove(at)),
        None => Err(unknown(name, &pools)),
    }
}

async fn set(session: &Session, db: &Db, pool: &DescribedPool) -> Result<()> {
    /// How long the name of a pool may be.
    const LONGEST: usize = 256;
    if pool.name.trim().is_empty() {
        bail!("Pool name shouldn't be empty");
    }
    if pool.name.chars().count() > LONGEST {
        bail!("Pool name cannot be more than {LONGEST} characters");
    }
    if pool.team_name.is_some() && !session.settings.core.multi_team {
        bail!("pool {} cannot have a team: [core] multi_team is off", pool.name);
    }
    Ok(db.transact(|tx| async move { pool::set(tx, pool).await }.scope_boxed()).await?)
}

async fn delete(db: &Db, name: &str) -> Result<()> {
    if name == DEFAULT_POOL {
        bail!("{DEFAULT_POOL} cannot be deleted");
    }
    if db.transact(|tx| async move { pool::delete(tx, name).await }.scope_boxed()).await? {
        return Ok(());
    }
    Err(unknown(name, &list(db).await?))
}

fn unknown(name: &str, pools: &[DescribedPool]) -> anyhow::Error {
    let near: Vec<&str> = nearest(name, pools.iter().map(|pool| pool.name.as_str()).collect()).collect();
    let help = if near.is_empty() {
        "`ferroflow pools list` shows those that there are".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    anyhow!("Pool {name} does not exist; {help}")
}

fn print(pools: &[DescribedPool], format: Format, out: &mut dyn Write) -> Result<()> {
    let row = |pool: &DescribedPool| {
        vec![
            Cell::from(pool.name.as_str()),
            Cell::of_number(pool.slots),
            Cell::of_text(pool.description.as_deref()),
            Cell::from(pool.include_deferred),
            Cell::of_text(pool.team_name.as_deref()),
        ]
    };
    let columns = vec!["pool", "slots", "description", "include_deferred", "team_name"];
    Ok(Records::new(columns, pools.iter().map(row).collect()).print(format, out)?)
}
