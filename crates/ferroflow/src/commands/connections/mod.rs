//! `ferroflow connections`

mod add;
mod check;
mod export;
mod hooks;
mod import;
mod shown;

use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use ferroflow_config::Environment;
use ferroflow_operations::Operations;
use ferroflow_operations::connection::{self, FoundConnection};

use super::operations;
use super::secrets::ListingArgs;
use crate::output::{Cell, OutputArgs, Records};
use crate::session::{Session, block_on};
use hooks::PythonHooks;

#[derive(Debug, Subcommand)]
pub(crate) enum ConnectionsCommand {
    /// Add a connection
    Add(Box<add::AddArgs>),
    /// Add the connections that Airflow takes for usual, but for those that are there
    CreateDefaultConnections(DefaultsArgs),
    /// Delete a connection
    Delete(DeleteArgs),
    /// Write all connections to a file
    Export(export::ExportArgs),
    /// Show a connection, as tasks see it, with its secrets
    Get(GetArgs),
    /// Add the connections that a file has
    Import(import::ImportArgs),
    /// List the connections
    List(ListArgs),
    /// Try whether a connection works
    Test(check::TestArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow connections list
  ferroflow connections list --show-values --hide-sensitive -o json")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    listing: ListingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct GetArgs {
    /// The connection
    conn_id: String,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// The connection
    conn_id: String,
    #[command(flatten)]
    color: ColorArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DefaultsArgs {
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ColorArgs {
    /// Accepted for compatibility: nothing is coloured
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "on|off|auto")]
    #[arg(hide_possible_values = true)]
    color: Color,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Color {
    On,
    Off,
    Auto,
}

pub(crate) fn run(
    command: &ConnectionsCommand,
    environment: &Environment,
    out: &mut dyn Write,
) -> Result<()> {
    let session = Session::start_quietly(environment)?;
    let open = async || operations::open(&session).await;
    block_on(async {
        match command {
            ConnectionsCommand::List(args) => list(args, &*open().await?, out).await,
            ConnectionsCommand::Get(args) => {
                let get = async |operations: &Operations| get(args, operations, out).await;
                operations::with_backend(&session, get).await
            }
            ConnectionsCommand::Add(args) => add::run(args, &session, &*open().await?, out).await,
            ConnectionsCommand::Delete(args) => {
                connection::delete(&*open().await?, &args.conn_id).await?;
                Ok(writeln!(out, "Successfully deleted connection with `conn_id`={}", args.conn_id)?)
            }
            ConnectionsCommand::Import(args) => import::run(args, &session, &*open().await?, out).await,
            ConnectionsCommand::Export(args) => export::run(args, &*open().await?, out).await,
            ConnectionsCommand::CreateDefaultConnections(_) => {
                Ok(connection::create_defaults(&*open().await?, &PythonHooks(&session)).await?)
            }
            ConnectionsCommand::Test(args) => check::run(args, &session, out).await,
        }
    })
}

async fn list(args: &ListArgs, operations: &Operations, out: &mut dyn Write) -> Result<()> {
    let args = &args.listing;
    args.check()?;
    let format = args.output.output;
    if !args.show_values {
        let names = connection::names(operations).await?;
        let row = |(id, kind): (String, String)| vec![Cell::Text(id), Cell::Text(kind)];
        let records = Records::new(vec!["conn_id", "conn_type"], names.into_iter().map(row).collect());
        return Ok(records.print(format, out)?);
    }
    let all: Vec<FoundConnection> =
        connection::list(operations).await?.into_iter().map(FoundConnection::from).collect();
    shown::print(&all, args.hide_sensitive, format, out)
}

async fn get(args: &GetArgs, operations: &Operations, out: &mut dyn Write) -> Result<()> {
    let found = connection::get(operations, &args.conn_id).await?;
    shown::print(&[found], false, args.output.output, out)
}
