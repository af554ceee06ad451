//! `ferroflow variables`

mod file;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use ferroflow_config::{Environment, nearest};
use ferroflow_db::variable::{self, Variable};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_execution::api::PutVariable;
use serde_json::Value;

use super::audit::{AuditAction, note_deed};
use super::dags::stored;
use super::secrets::{Keeper, ListingArgs};
use crate::output::{Cell, Records, indented_json, python_repr};
use crate::session::{Session, block_on};

#[derive(Debug, Subcommand)]
pub(crate) enum VariablesCommand {
    /// Delete a variable
    Delete(KeyArgs),
    /// Write all variables to a JSON file
    Export(ExportArgs),
    /// Show the value of a variable, as tasks see it
    Get(GetArgs),
    /// Set the variables that a file has
    Import(ImportArgs),
    /// List the variables
    List(ListArgs),
    /// Set a variable
    Set(SetArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow variables list
  ferroflow variables list --show-values --hide-sensitive -o json")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    listing: ListingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct KeyArgs {
    /// The variable
    key: String,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow variables get region
  ferroflow variables get region --default north")]
pub(crate) struct GetArgs {
    /// The variable
    key: String,
    /// The value is JSON: show what it means
    #[arg(short, long)]
    json: bool,
    /// What to show if there is no such variable
    #[arg(short, long, value_name = "VAL")]
    default: Option<String>,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow variables set region north --description 'where we sell'")]
pub(crate) struct SetArgs {
    /// The variable
    key: String,
    /// Its value
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    /// What it is for
    #[arg(long)]
    description: Option<String>,
    /// Store the value as a JSON text
    #[arg(short, long)]
    json: bool,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The file; - is standard output
    file: PathBuf,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "The file is .json or .yaml, an object of values, or .env, a line KEY=value for each. A value that is
an object with \"value\" in it is that, and its \"description\"."
)]
pub(crate) struct ImportArgs {
    /// The file
    file: PathBuf,
    /// What becomes of a variable that is there already
    #[arg(short, long, value_enum, default_value_t = OnExisting::Overwrite, value_name = "ACTION")]
    action_on_existing_key: OnExisting,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

/// What becomes of a variable that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnExisting {
    Overwrite,
    Fail,
    Skip,
}

pub(crate) fn run(command: &VariablesCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start_quietly(environment)?;
    block_on(async {
        let db = stored::connect(&session).await?;
        let note =
            async |event| note_deed(&session, &db, &AuditAction { event, ..AuditAction::default() }).await;
        match command {
            VariablesCommand::List(args) => list(args, &session, &db, out).await,
            VariablesCommand::Get(args) => get(args, &session, &db, out).await,
            VariablesCommand::Set(args) => {
                note("variables_set").await;
                set(args, &session, &db).await?;
                session.warn_of_plain_text("variables");
                Ok(writeln!(out, "Variable {} created", args.key)?)
            }
            VariablesCommand::Delete(args) => {
                note("variables_delete").await;
                let key = args.key.as_str();
                db.transact(|tx| async move { variable::delete_visible(tx, key, None).await }.scope_boxed())
                    .await?;
                Ok(writeln!(out, "Variable {key} deleted")?)
            }
            VariablesCommand::Import(args) => {
                note("variables_import").await;
                file::import(args, &session, &db, out).await
            }
            VariablesCommand::Export(args) => file::export(&all(&session, &db).await?, &args.file, out),
        }
    })
}

async fn all(session: &Session, db: &Db) -> Result<Vec<Variable>> {
    let fernet = &session.fernet;
    Ok(db.read(|tx| async move { variable::all(tx, fernet).await }.scope_boxed()).await?)
}

async fn list(args: &ListArgs, session: &Session, db: &Db, out: &mut dyn Write) -> Result<()> {
    let args = &args.listing;
    args.check()?;
    let records = if args.show_values {
        let variables = all(session, db).await?;
        let value =
            |variable: &Variable| Cell::from(if args.hide_sensitive { "***" } else { variable.val.as_str() });
        let rows = variables.iter().map(|each| vec![Cell::from(each.key.as_str()), value(each)]).collect();
        Records::new(vec!["key", "val"], rows)
    } else {
        let names = names(db).await?;
        Records::new(vec!["key"], names.into_iter().map(|name| vec![Cell::Text(name)]).collect())
    };
    Ok(records.print(args.output.output, out)?)
}

async fn names(db: &Db) -> Result<Vec<String>> {
    let found = db.read(|tx| async move { variable::keys(tx, "", i64::MAX, 0).await }.scope_boxed());
    Ok(found.await?.1)
}

async fn get(args: &GetArgs, session: &Session, db: &Db, out: &mut dyn Write) -> Result<()> {
    let keeper = Keeper::open(session, db).await?;
    let found = keeper.service().variable(&args.key).await;
    keeper.close().await;
    let shown = match (found.map_err(|refusal| anyhow!(refusal.sentence()))?, &args.default) {
        (Some(value), _) if args.json => meant(&args.key, &value)?,
        (Some(value), _) => value,
        (None, Some(default)) => default.clone(),
        (None, None) => return Err(unknown(&args.key, db).await),
    };
    Ok(writeln!(out, "{shown}")?)
}

/// What a value means that is JSON, as Python prints it.
fn meant(key: &str, value: &str) -> Result<String> {
    let value: Value =
        serde_json::from_str(value).with_context(|| format!("the value of variable {key} is not JSON"))?;
    Ok(match value {
        Value::String(text) => text,
        other => python_repr(&other),
    })
}

async fn unknown(key: &str, db: &Db) -> anyhow::Error {
    let names = names(db).await.unwrap_or_default();
    let near: Vec<&str> = nearest(key, names.iter().map(String::as_str).collect()).collect();
    let help = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
    anyhow!("Variable {key} does not exist.{help}")
}

async fn set(args: &SetArgs, session: &Session, db: &Db) -> Result<()> {
    let value =
        if args.json { indented_json(&Value::from(args.value.as_str()), 2) } else { args.value.clone() };
    let wanted =
        PutVariable { key: args.key.clone(), value: Some(value), description: args.description.clone() };
    let keeper = Keeper::open(session, db).await?;
    let done = keeper.service().put_variable(&wanted).await;
    keeper.close().await;
    done.map_err(|refusal| anyhow!(refusal.sentence()))
}
