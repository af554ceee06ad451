//! `ferroflow connections import`

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use ferroflow_db::connection::{self, Connection};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_operations::connection_text;
use ferroflow_telemetry::clock;
use serde_json::Value;

use super::add::{check_id, has_secrets};
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

/// A connection of a file.
struct Entry {
    connection: Connection,
    /// A URI without a query says nothing of `extra`.
    keeps_extra: bool,
}

pub(super) async fn run(args: &ImportArgs, session: &Session, db: &Db, out: &mut dyn Write) -> Result<()> {
    if !args.file.exists() {
        bail!("Missing connections file: there is no {}", args.file.display());
    }
    let entries = entries(args)?;
    let mut stored_secrets = false;
    let mut progress = Progress::new(entries.len(), "connections", Format::Table);
    for (done, entry) in entries.iter().enumerate() {
        progress.tell(done);
        let conn_id = &entry.connection.conn_id;
        if let Err(problem) = check_id(conn_id, session) {
            writeln!(out, "Could not import connection. {problem}")?;
        } else if write(entry, args.overwrite, session, db).await? {
            stored_secrets |= has_secrets(&entry.connection);
            writeln!(out, "Imported connection {conn_id}")?;
        } else {
            writeln!(out, "Could not import connection {conn_id}: connection already exists.")?;
        }
    }
    drop(progress);
    if stored_secrets {
        session.warn_of_plain_text("passwords and extras of connections");
    }
    Ok(())
}

/// All that the file has, or what is wrong with the first that is not right.
fn entries(args: &ImportArgs) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (conn_id, value) in secret_file::read(&args.file)? {
        let wrong = |problem: String| anyhow!("{}, connection {conn_id}: {problem}", args.file.display());
        let value = match value {
            Value::Array(mut values) => match (values.pop(), values.is_empty()) {
                (Some(value), true) => value,
                (None, _) => continue,
                (Some(_), false) => return Err(wrong("there are several values for it".to_owned())),
            },
            value => value,
        };
        entries.push(entry(&conn_id, value).map_err(wrong)?);
    }
    Ok(entries)
}

fn entry(conn_id: &str, value: Value) -> Result<Entry, String> {
    let (connection, is_uri) = match value {
        // Lines of a .env file may have JSON in them: that is how they can be exported.
        Value::String(text) if text.trim_start().starts_with('{') => {
            (connection_text::from_json(conn_id, &text)?, false)
        }
        Value::String(uri) => (connection_text::from_uri(conn_id, &uri)?, true),
        Value::Object(fields) => {
            let is_uri = fields.get("uri").and_then(Value::as_str).is_some_and(|uri| !uri.is_empty());
            (connection_text::from_fields(conn_id, fields)?, is_uri)
        }
        _ => return Err("it is neither a URI nor an object".to_owned()),
    };
    Ok(Entry { keeps_extra: is_uri && connection.extra.is_none(), connection })
}

/// False if it is there already and is to stay.
async fn write(entry: &Entry, overwrite: bool, session: &Session, db: &Db) -> Result<bool> {
    let Entry { connection, keeps_extra } = entry;
    let (fernet, now) = (&session.fernet, clock::now());
    let written = db.transact(|tx| {
        async move {
            match (connection::exists(tx, &connection.conn_id).await?, overwrite) {
                (true, false) => return Ok(false),
                (true, true) => connection::overwrite(tx, fernet, connection, *keeps_extra, now).await?,
                (false, _) => connection::insert(tx, fernet, connection, now).await?,
            }
            Ok(true)
        }
        .scope_boxed()
    });
    Ok(written.await?)
}
