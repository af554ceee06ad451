//! `ferroflow connections import`

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use ferroflow_operations::Operations;
use ferroflow_operations::connection::{self, Entry, ImportRequest, Imported};

use crate::commands::operations::logged_if_failed;
use crate::commands::secret_file;
use crate::output::{Format, Progress};
use crate::session::Session;

#[derive(Args, Debug)]
#[command(
    after_help = "The file is .json or .yaml, a URI or an object for each connection, or .env, a line ID=URI for each:
  {\"warehouse\": \"postgres://me:secret@db.example:5432/sales\",
   \"mail\": {\"conn_type\": \"smtp\", \"host\": \"mail.example\", \"port\": 25, \"extra\": {\"timeout\": 5}}}

What `ferroflow connections export` writes can be read again. Nothing is written if something in the file is wrong."
)]
pub(crate) struct ImportArgs {
    /// The file
    file: PathBuf,
    /// Change the connections that are there already; a password that the file does not have stays
    #[arg(long)]
    overwrite: bool,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

pub(super) async fn run(
    args: &ImportArgs,
    session: &Session,
    operations: &Operations,
    out: &mut dyn Write,
) -> Result<()> {
    let entries = logged_if_failed(operations, &connection::IMPORT, entries(args)).await?;
    let mut progress = Progress::new(entries.len(), "connections", Format::Table);
    let (mut done, mut stored_secrets, mut printed) = (0, false, Ok(()));
    let request = ImportRequest { entries, overwrite: args.overwrite };
    let imported = connection::import(operations, &request, |connection, imported| {
        done += 1;
        progress.tell(done);
        stored_secrets |= imported == Imported::Stored && connection::has_secrets(connection);
        let line = told(&connection.conn_id, &imported);
        if let Err(error) = writeln!(out, "{line}") {
            printed = Err(error);
        }
    });
    imported.await?;
    drop(progress);
    printed?;
    if stored_secrets {
        session.warn_of_plain_text("passwords and extras of connections");
    }
    Ok(())
}

/// All that the file has, or what is wrong with the first that is not right.
fn entries(args: &ImportArgs) -> Result<Vec<Entry>> {
    if !args.file.exists() {
        bail!("Missing connections file: there is no {}", args.file.display());
    }
    connection::entries(secret_file::read(&args.file)?)
        .map_err(|problem| anyhow!("{}, {problem}", args.file.display()))
}

fn told(conn_id: &str, imported: &Imported) -> String {
    match imported {
        Imported::Stored => format!("Imported connection {conn_id}"),
        Imported::Exists => format!("Could not import connection {conn_id}: connection already exists."),
        Imported::BadName(problem) => format!("Could not import connection. {problem}"),
    }
}
