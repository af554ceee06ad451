//! `ferroflow connections add`

use std::io::Write;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use ferroflow_execution::{MaskRules, Masker};
use ferroflow_operations::connection::{self, AddRequest, Connection};
use ferroflow_operations::{Operations, connection_text};
use serde_json::Value;

use super::hooks::PythonHooks;
use crate::commands::operations::logged_if_failed;
use crate::output::{Cell, Format, Records, note};
use crate::session::Session;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow connections add warehouse --conn-uri 'postgres://me:secret@db.example:5432/sales?sslmode=require'
  ferroflow connections add warehouse --conn-json '{\"conn_type\": \"postgres\", \"host\": \"db.example\"}'
  ferroflow connections add mail --conn-type smtp --conn-host mail.example --conn-port 25

What is in a URI is percent-encoded. A secret that should not be in the history of the shell goes into a file for
`ferroflow connections import`.")]
#[expect(clippy::struct_field_names, reason = "the options have these names in Airflow")]
pub(crate) struct AddArgs {
    /// The name of the connection
    conn_id: String,
    /// All of it as a URI: type://login:password@host:port/schema?extra
    #[arg(long, value_name = "URI")]
    conn_uri: Option<String>,
    /// All of it as a JSON object
    #[arg(long, value_name = "JSON")]
    conn_json: Option<String>,
    /// Its type; one that no installed provider has becomes generic
    #[arg(long, value_name = "TYPE")]
    conn_type: Option<String>,
    /// Its host
    #[arg(long, value_name = "HOST")]
    conn_host: Option<String>,
    /// Its user
    #[arg(long, value_name = "LOGIN")]
    conn_login: Option<String>,
    /// Their password
    #[arg(long, value_name = "PASSWORD", allow_hyphen_values = true)]
    conn_password: Option<String>,
    /// Its schema: the database, say
    #[arg(long, value_name = "SCHEMA")]
    conn_schema: Option<String>,
    /// Its port
    #[arg(long, value_name = "PORT")]
    conn_port: Option<String>,
    /// More settings: a JSON object
    #[arg(long, value_name = "JSON")]
    conn_extra: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    conn_description: Option<String>,
}

pub(super) async fn run(
    args: &AddArgs,
    session: &Session,
    operations: &Operations,
    out: &mut dyn Write,
) -> Result<()> {
    let request = logged_if_failed(operations, &connection::ADD, wanted(args)).await?;
    let added = connection::add(operations, request, &PythonHooks(session)).await?;
    if let Some(told) = &added.replaced_type {
        // Not to be able to tell is no reason not to do it.
        drop(note(told));
    }
    if connection::has_secrets(&added.connection) {
        session.warn_of_plain_text("the password and the extra of a connection");
    }
    writeln!(out, "Successfully added `conn_id`={}", args.conn_id)?;
    print(&added.connection, session, out)
}

fn wanted(args: &AddArgs) -> Result<AddRequest> {
    let given = |option: &Option<String>| option.clone().filter(|text| !text.is_empty());
    let extra = args.conn_extra.clone();
    let connection = match (given(&args.conn_uri), given(&args.conn_json), given(&args.conn_type)) {
        (Some(_), Some(_), _) => bail!("Cannot supply both conn-uri and conn-json"),
        (Some(uri), None, _) => {
            refuse_besides("--conn-uri", args, false)?;
            let read = connection_text::from_uri(&args.conn_id, &uri);
            let connection = read.map_err(|problem| anyhow!("--conn-uri: {problem}"))?;
            if connection.conn_type.is_empty() {
                bail!(
                    "The URI provided to --conn-uri is invalid: it does not begin with a type, such as postgres://"
                );
            }
            let extra = extra.or(connection.extra);
            Connection { extra, description: args.conn_description.clone(), ..connection }
        }
        (None, Some(json), _) => {
            refuse_besides("--conn-json", args, true)?;
            let read = connection_text::from_json(&args.conn_id, &json);
            let connection = read.map_err(|problem| anyhow!("--conn-json: {problem}"))?;
            if connection.conn_type.is_empty() {
                bail!("conn-json is invalid; must supply conn-type");
            }
            connection
        }
        (None, None, Some(kind)) => Connection {
            conn_id: args.conn_id.clone(),
            conn_type: kind,
            description: args.conn_description.clone(),
            host: args.conn_host.clone(),
            schema: args.conn_schema.clone(),
            login: args.conn_login.clone(),
            password: args.conn_password.clone(),
            port: port(args.conn_port.as_deref())?,
            extra,
            team_name: None,
        },
        (None, None, None) => bail!("Must supply either conn-uri or conn-json if not supplying conn-type"),
    };
    Ok(AddRequest { connection, checks_type: given(&args.conn_type).is_some() })
}

/// All of a connection stands in its URI or its JSON.
fn refuse_besides(option: &str, args: &AddArgs, has_extra: bool) -> Result<()> {
    let single = [
        ("--conn-type", &args.conn_type),
        ("--conn-host", &args.conn_host),
        ("--conn-login", &args.conn_login),
        ("--conn-password", &args.conn_password),
        ("--conn-schema", &args.conn_schema),
        ("--conn-port", &args.conn_port),
    ];
    let mut besides: Vec<&str> =
        single.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name).collect();
    if has_extra && args.conn_extra.as_deref().is_some_and(|extra| !extra.is_empty()) {
        besides.push("--conn-extra");
    }
    if besides.is_empty() {
        return Ok(());
    }
    bail!("The following args are not compatible with the {option} flag: {}", besides.join(", "))
}

fn port(text: Option<&str>) -> Result<Option<i32>> {
    let number =
        |text: &str| text.trim().parse().map_err(|_| anyhow!("--conn-port: {text:?} is not a number"));
    text.map(number).transpose()
}

fn print(connection: &Connection, session: &Session, out: &mut dyn Write) -> Result<()> {
    let mut extra = Value::Object(connection::extra(connection)?);
    let masker = Masker::new(MaskRules::of(&session.settings));
    if let Some(password) = connection.password.as_deref().filter(|password| !password.is_empty()) {
        masker.add(&Value::from(password), None);
    }
    masker.add(&extra, None);
    masker.redact_json(&mut extra);
    let row = vec![
        Cell::from(connection.conn_id.as_str()),
        Cell::from(connection.conn_type.as_str()),
        Cell::of_text(connection.host.as_deref()),
        Cell::of_text(connection.login.as_deref()),
        connection.port.map_or(Cell::Nothing, Cell::of_number),
        Cell::of_json(&extra, Format::Table),
    ];
    let columns = vec!["conn_id", "conn_type", "host", "login", "port", "extra"];
    Ok(Records::new(columns, vec![row]).print(Format::Table, out)?)
}
