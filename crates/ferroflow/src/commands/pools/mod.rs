//! `ferroflow pools`

mod file;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use ferroflow_config::Environment;
use ferroflow_operations::pool::{self, DescribedPool};

use super::operations::{self, logged_if_failed};
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
        let operations = &operations::open(&session).await?;
        match command {
            PoolsCommand::List(args) => print(&pool::list(operations).await?, args.output.output, out),
            PoolsCommand::Get(args) => {
                print(&[pool::get(operations, &args.pool).await?], args.rest.output.output, out)
            }
            PoolsCommand::Set(args) => {
                let pool = DescribedPool {
                    name: args.pool.clone(),
                    slots: args.slots,
                    description: Some(args.description.clone()),
                    include_deferred: args.include_deferred,
                    team_name: args.team_name.clone(),
                };
                pool::set(operations, &pool).await?;
                Ok(writeln!(out, "Pool {} created", args.pool)?)
            }
            PoolsCommand::Delete(args) => {
                pool::delete(operations, &args.pool).await?;
                Ok(writeln!(out, "Pool {} deleted", args.pool)?)
            }
            PoolsCommand::Import(args) => {
                let pools = logged_if_failed(operations, &pool::IMPORT, file::read(&args.file)).await?;
                let number = pool::import(operations, &pools).await?;
                Ok(writeln!(out, "Uploaded {number} pool(s)")?)
            }
            PoolsCommand::Export(args) => {
                let number = file::export(operations, &args.file).await?;
                Ok(writeln!(out, "Exported {number} pools to {}", args.file.display())?)
            }
        }
    })
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
