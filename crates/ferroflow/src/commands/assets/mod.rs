//! `ferroflow assets`

mod shown;

use std::io::Write;

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use ferroflow_config::Environment;
use ferroflow_db::asset::list::Which;
use ferroflow_execution::{BesideRun, MaskRules, Masker, run_response};
use ferroflow_operations::asset::{self, Materialized};
use ferroflow_operations::{OperationError, Operations};
use serde_json::Value;

use super::operations;
use crate::output::{Cell, Format, OutputArgs, Records};
use crate::session::{Session, block_on};
use shown::{ALIAS_FIELDS, ASSET_FIELDS, Fields};

#[derive(Debug, Subcommand)]
pub(crate) enum AssetsCommand {
    /// Show all that is known of an asset, or of an alias
    Details(DetailsArgs),
    /// List the assets, or the aliases
    List(ListArgs),
    /// Update an asset: make a run of the DAG that has a task which does so
    Materialize(MaterializeArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Aliases in the place of assets
    #[arg(long)]
    alias: bool,
    /// The columns to show, between commas: any field that `assets details` shows
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', default_value = "name,uri,group,extra")]
    columns: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
struct NamedArgs {
    /// The name of the asset
    #[arg(long, default_value = "", hide_default_value = true)]
    name: String,
    /// The URI of the asset
    #[arg(long, default_value = "", hide_default_value = true)]
    uri: String,
    #[command(flatten)]
    output: OutputArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow assets details --name sales
  ferroflow assets details --uri s3://sales/north -o json
  ferroflow assets details --alias --name hot")]
pub(crate) struct DetailsArgs {
    /// An alias in the place of an asset
    #[arg(long)]
    alias: bool,
    #[command(flatten)]
    named: NamedArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow assets materialize --name sales
  ferroflow assets materialize --uri s3://sales/north -o json")]
pub(crate) struct MaterializeArgs {
    #[command(flatten)]
    named: NamedArgs,
}

pub(crate) fn run(command: &AssetsCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start_quietly(environment)?;
    block_on(async {
        let operations = operations::open(&session).await?;
        let done = match command {
            AssetsCommand::List(args) => list(args, &session, &operations, out).await,
            AssetsCommand::Details(args) => details(args, &session, &operations, out).await,
            AssetsCommand::Materialize(args) => materialize(&args.named, &operations, out).await,
        };
        operations.close().await;
        done
    })
}

async fn list(
    args: &ListArgs,
    session: &Session,
    operations: &Operations,
    out: &mut dyn Write,
) -> Result<()> {
    let fields: &[&'static str] = if args.alias { &ALIAS_FIELDS } else { &ASSET_FIELDS };
    let is_asked = |name: &str| args.columns.iter().any(|column| column.trim() == name);
    let columns: Vec<&'static str> = fields.iter().copied().filter(|field| is_asked(field)).collect();
    if columns.is_empty() {
        bail!("--columns: there is no column {}; there are {}", args.columns.join(", "), fields.join(", "));
    }
    let format = args.output.output;
    let all: Vec<Fields> = if args.alias {
        asset::aliases(operations).await?.iter().map(shown::alias).collect()
    } else {
        let masker = Masker::new(MaskRules::of(&session.settings));
        asset::list(operations).await?.iter().map(|asset| shown::asset(asset, &masker)).collect()
    };
    let row = |fields: Fields| {
        let asked = fields.into_iter().filter(|(name, _)| columns.contains(name));
        asked.map(|(_, value)| Cell::of_json(&value, format)).collect()
    };
    Ok(Records::new(columns.clone(), all.into_iter().map(row).collect::<Vec<Vec<Cell>>>())
        .print(format, out)?)
}

async fn details(
    args: &DetailsArgs,
    session: &Session,
    operations: &Operations,
    out: &mut dyn Write,
) -> Result<()> {
    let NamedArgs { name, uri, output, .. } = &args.named;
    let fields = if args.alias {
        if name.is_empty() {
            bail!("Required --name with --alias");
        }
        if !uri.is_empty() {
            bail!("Cannot use --uri with --alias: an alias has none");
        }
        shown::alias(&asset::alias(operations, name).await?)
    } else {
        let masker = Masker::new(MaskRules::of(&session.settings));
        shown::asset(&asset::find(operations, args.named.which()?).await?, &masker)
    };
    print_details(fields, output.output, out)
}

fn print_details(fields: Fields, format: Format, out: &mut dyn Write) -> Result<()> {
    let cells = fields.into_iter().map(|(name, value)| (name, Cell::of_json(&value, format)));
    let records = match format {
        Format::Table | Format::Plain => {
            let rows = cells.map(|(name, value)| vec![Cell::from(name), value]).collect();
            Records::new(vec!["property_name", "property_value"], rows)
        }
        Format::Json | Format::Yaml => {
            let (names, values) = cells.unzip();
            Records::new(names, vec![values])
        }
    };
    Ok(records.print(format, out)?)
}

async fn materialize(args: &NamedArgs, operations: &Operations, out: &mut dyn Write) -> Result<()> {
    let which = operations::logged_if_failed(operations, &asset::MATERIALIZE, args.which()).await?;
    let made = asset::materialize(operations, which).await;
    let Materialized { stored, run, versions } = made.map_err(|error| match error {
        OperationError::Conflict(problem) if problem.reason == Some(asset::AMBIGUOUS) => anyhow!(problem),
        error => operations::refused("the run is not made", error),
    })?;
    let beside = BesideRun { display_name: stored.row.dag_display_name, note: None, versions };
    print_run(&run_response(&run, &beside), args.output.output, out)
}

fn print_run(run: &Value, format: Format, out: &mut dyn Write) -> Result<()> {
    let fields = run.as_object().into_iter().flatten();
    // They are few, and wanted to the end of the process.
    let column = |(name, value): (&String, &Value)| -> (&'static str, Cell) {
        (name.clone().leak(), Cell::of_json(value, format))
    };
    let (names, values) = fields.map(column).unzip();
    Ok(Records::new(names, vec![values]).print(format, out)?)
}

impl NamedArgs {
    fn which(&self) -> Result<Which<'_>> {
        let given = |text: &'_ str| -> bool { !text.is_empty() };
        if !given(&self.name) && !given(&self.uri) {
            bail!("Either --name or --uri is required");
        }
        Ok(Which {
            name: Some(self.name.as_str()).filter(|name| given(name)),
            uri: Some(self.uri.as_str()).filter(|uri| given(uri)),
        })
    }
}
