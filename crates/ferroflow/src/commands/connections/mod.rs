//! `ferroflow connections`

mod add;
mod check;
mod defaults;
mod export;
mod import;
mod shown;

use std::io::Write;

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use ferroflow_config::{Environment, nearest};
use ferroflow_db::{Db, ScopedFutureExt as _, connection};
use ferroflow_python::ForkServer;
use ferroflow_python::connections::ConnectionTypes;

use super::audit::{AuditAction, note_deed};
use super::dags::stored;
use super::secrets::{Keeper, ListingArgs};
use crate::output::{Cell, OutputArgs, Records};
use crate::session::{Session, block_on};
use shown::Shown;

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
    block_on(async {
        if let ConnectionsCommand::Test(_) = command {
            check::refuse_unless_enabled(&session, out)?;
        }
        let db = stored::connect(&session).await?;
        let note =
            async |event| note_deed(&session, &db, &AuditAction { event, ..AuditAction::default() }).await;
        match command {
            ConnectionsCommand::List(args) => list(args, &session, &db, out).await,
            ConnectionsCommand::Get(args) => get(args, &session, &db, out).await,
            ConnectionsCommand::Add(args) => {
                note("connections_add").await;
                add::run(args, &session, &db, out).await
            }
            ConnectionsCommand::Delete(args) => {
                note("connections_delete").await;
                delete(&args.conn_id, &db, out).await
            }
            ConnectionsCommand::Import(args) => {
                note("connections_import").await;
                import::run(args, &session, &db, out).await
            }
            ConnectionsCommand::Export(args) => export::run(args, &session, &db, out).await,
            ConnectionsCommand::CreateDefaultConnections(_) => defaults::run(&session, &db).await,
            ConnectionsCommand::Test(args) => check::run(args, &session, &db, out).await,
        }
    })
}

async fn list(args: &ListArgs, session: &Session, db: &Db, out: &mut dyn Write) -> Result<()> {
    let args = &args.listing;
    args.check()?;
    let format = args.output.output;
    if !args.show_values {
        let names = db.read(|tx| async move { connection::names(tx).await }.scope_boxed()).await?;
        let row = |(id, kind): (String, String)| vec![Cell::Text(id), Cell::Text(kind)];
        let records = Records::new(vec!["conn_id", "conn_type"], names.into_iter().map(row).collect());
        return Ok(records.print(format, out)?);
    }
    let fernet = &session.fernet;
    let all = db.read(|tx| async move { connection::all(tx, fernet).await }.scope_boxed()).await?;
    let all: Vec<Shown> = all.into_iter().map(Shown::stored).collect();
    shown::print(&all, args.hide_sensitive, format, out)
}

async fn get(args: &GetArgs, session: &Session, db: &Db, out: &mut dyn Write) -> Result<()> {
    let Some(found) = find(&args.conn_id, session, db).await? else {
        return Err(unknown(&args.conn_id, db).await);
    };
    shown::print(&[found], false, args.output.output, out)
}

/// A connection, wherever it comes from.
async fn find(conn_id: &str, session: &Session, db: &Db) -> Result<Option<Shown>> {
    let keeper = Keeper::open(session, db).await?;
    let outside = keeper.service().secrets().connection_outside(conn_id).await;
    keeper.close().await;
    if let Some(connection) = outside {
        return Ok(Some(Shown::not_stored(connection, &session.fernet)));
    }
    let fernet = &session.fernet;
    let read = db.read(|tx| async move { connection::find_stored(tx, fernet, conn_id).await }.scope_boxed());
    Ok(read.await?.filter(|found| found.connection.is_visible_to(None)).map(Shown::stored))
}

async fn delete(conn_id: &str, db: &Db, out: &mut dyn Write) -> Result<()> {
    if !db.transact(|tx| async move { connection::delete(tx, conn_id).await }.scope_boxed()).await? {
        return Err(unknown(conn_id, db).await);
    }
    Ok(writeln!(out, "Successfully deleted connection with `conn_id`={conn_id}")?)
}

async fn unknown(conn_id: &str, db: &Db) -> anyhow::Error {
    let names = match db.read(|tx| async move { connection::names(tx).await }.scope_boxed()).await {
        Ok(names) => names,
        Err(error) => return error.into(),
    };
    let near: Vec<&str> = nearest(conn_id, names.iter().map(|(name, _)| name.as_str()).collect()).collect();
    let help = if near.is_empty() {
        "`ferroflow connections list` shows those that there are".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    anyhow!("Did not find a connection with `conn_id`={conn_id}; {help}")
}

/// Asks Python about connections.
async fn ask<T, E: Into<anyhow::Error>>(
    session: &Session,
    question: impl AsyncFnOnce(&ConnectionTypes) -> Result<T, E>,
) -> Result<T> {
    let server: ForkServer = session.start_python().await.context("connections are known to Python alone")?;
    let answer = question(&ConnectionTypes::new(server.clone())).await;
    server.stop().await;
    answer.map_err(Into::into)
}
