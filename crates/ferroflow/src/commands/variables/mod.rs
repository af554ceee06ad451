//! `ferroflow variables`

mod file;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use ferroflow_config::Environment;
use ferroflow_operations::Operations;
use ferroflow_operations::variable::{self, GetRequest, NewVariable, SetRequest, Variable, VariableValue};
use serde_json::Value;

use super::operations;
use super::secrets::ListingArgs;
use crate::output::{Cell, Records, python_repr};
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

impl From<OnExisting> for variable::OnExisting {
    fn from(asked: OnExisting) -> Self {
        match asked {
            OnExisting::Overwrite => Self::Overwrite,
            OnExisting::Fail => Self::Fail,
            OnExisting::Skip => Self::Skip,
        }
    }
}

pub(crate) fn run(command: &VariablesCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start_quietly(environment)?;
    let open = async || operations::open(&session).await;
    block_on(async {
        match command {
            VariablesCommand::List(args) => list(args, &*open().await?, out).await,
            VariablesCommand::Get(args) => {
                let get = async |operations: &Operations| get(args, operations, out).await;
                operations::with_backend(&session, get).await
            }
            VariablesCommand::Set(args) => {
                let set = async |operations: &Operations| set(args, operations).await;
                operations::with_backend(&session, set).await?;
                session.warn_of_plain_text("variables");
                Ok(writeln!(out, "Variable {} created", args.key)?)
            }
            VariablesCommand::Delete(args) => {
                // Airflow says so also where there was none.
                variable::delete(&*open().await?, &args.key).await?;
                Ok(writeln!(out, "Variable {} deleted", args.key)?)
            }
            VariablesCommand::Import(args) => {
                let import =
                    async |operations: &Operations| file::import(args, &session, operations, out).await;
                operations::with_backend(&session, import).await
            }
            VariablesCommand::Export(args) => file::export(&*open().await?, &args.file, out).await,
        }
    })
}

async fn list(args: &ListArgs, operations: &Operations, out: &mut dyn Write) -> Result<()> {
    let args = &args.listing;
    args.check()?;
    let records = if args.show_values {
        let variables = variable::list(operations).await?;
        let value =
            |variable: &Variable| Cell::from(if args.hide_sensitive { "***" } else { variable.val.as_str() });
        let rows = variables.iter().map(|each| vec![Cell::from(each.key.as_str()), value(each)]).collect();
        Records::new(vec!["key", "val"], rows)
    } else {
        let names = variable::names(operations).await?;
        Records::new(vec!["key"], names.into_iter().map(|name| vec![Cell::Text(name)]).collect())
    };
    Ok(records.print(args.output.output, out)?)
}

/// JSON is shown as Python prints what it means.
async fn get(args: &GetArgs, operations: &Operations, out: &mut dyn Write) -> Result<()> {
    let request = GetRequest { key: args.key.clone(), default: args.default.clone(), is_json: args.json };
    let shown = match variable::get(operations, request).await? {
        VariableValue::Text(text) | VariableValue::Json(Value::String(text)) => text,
        VariableValue::Json(value) => python_repr(&value),
    };
    Ok(writeln!(out, "{shown}")?)
}

async fn set(args: &SetArgs, operations: &Operations) -> Result<()> {
    let variable = NewVariable {
        key: args.key.clone(),
        value: args.value.clone(),
        description: args.description.clone(),
    };
    Ok(variable::set(operations, SetRequest { variable, as_json: args.json }).await?)
}
