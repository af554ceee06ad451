//! `ferroflow assets`

mod shown;

use std::io::Write;

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use ferroflow_config::{Environment, nearest};
use ferroflow_db::asset::list::{ListedAsset, Which};
use ferroflow_db::{Db, ScopedFutureExt as _, asset, deadline};
use ferroflow_execution::{BesideRun, MaskRules, Masker, UserRun, run_response};
use ferroflow_model::state::{RunType, TriggeredBy};
use ferroflow_model::stored_assets::StoredAlias;
use serde_json::{Map, Value};

use super::audit::{AuditAction, note_deed};
use super::dags::stored;
use super::run_maker::RunMaker;
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
        let db = stored::connect(&session).await?;
        let done = match command {
            AssetsCommand::List(args) => list(args, &session, &db, out).await,
            AssetsCommand::Details(args) => details(args, &session, &db, out).await,
            AssetsCommand::Materialize(args) => materialize(&args.named, &session, &db, out).await,
        };
        db.close().await;
        done
    })
}

async fn list(args: &ListArgs, session: &Session, db: &Db, out: &mut dyn Write) -> Result<()> {
    let fields: &[&'static str] = if args.alias { &ALIAS_FIELDS } else { &ASSET_FIELDS };
    let is_asked = |name: &str| args.columns.iter().any(|column| column.trim() == name);
    let columns: Vec<&'static str> = fields.iter().copied().filter(|field| is_asked(field)).collect();
    if columns.is_empty() {
        bail!("--columns: there is no column {}; there are {}", args.columns.join(", "), fields.join(", "));
    }
    let format = args.output.output;
    let all: Vec<Fields> = if args.alias {
        aliases(db).await?.iter().map(shown::alias).collect()
    } else {
        let masker = Masker::new(MaskRules::of(&session.settings));
        assets(db, Which::default()).await?.iter().map(|asset| shown::asset(asset, &masker)).collect()
    };
    let row = |fields: Fields| {
        let asked = fields.into_iter().filter(|(name, _)| columns.contains(name));
        asked.map(|(_, value)| Cell::of_json(&value, format)).collect()
    };
    Ok(Records::new(columns.clone(), all.into_iter().map(row).collect::<Vec<Vec<Cell>>>())
        .print(format, out)?)
}

async fn details(args: &DetailsArgs, session: &Session, db: &Db, out: &mut dyn Write) -> Result<()> {
    let NamedArgs { name, uri, output, .. } = &args.named;
    let fields = if args.alias {
        if name.is_empty() {
            bail!("Required --name with --alias");
        }
        if !uri.is_empty() {
            bail!("Cannot use --uri with --alias: an alias has none");
        }
        let all = aliases(db).await?;
        let found = all.iter().find(|alias| alias.name == *name).ok_or_else(|| {
            let names = all.iter().map(|alias| alias.name.as_str()).collect();
            anyhow!("Asset alias with name {name} does not exist{}", help(name, names, "--alias"))
        });
        shown::alias(found?)
    } else {
        let masker = Masker::new(MaskRules::of(&session.settings));
        shown::asset(&args.named.only_asset(db).await?, &masker)
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

async fn materialize(args: &NamedArgs, session: &Session, db: &Db, out: &mut dyn Write) -> Result<()> {
    note_deed(session, db, &AuditAction { event: "asset_materialize", ..AuditAction::default() }).await;
    let which = args.which()?;
    let producers =
        db.read(|tx| async move { asset::list::producers(tx, which).await }.scope_boxed()).await?;
    let dag_id = match producers.as_slice() {
        [] => {
            let there = args.only_asset(db).await?;
            bail!("no task of any DAG updates asset {}: none has it among its outlets", there.name)
        }
        [dag_id] => dag_id,
        several => bail!(
            "more than one DAG materializes the asset with {}: {}; `ferroflow dags trigger` runs one of them",
            args.words(),
            several.join(", ")
        ),
    };
    let stored = stored::find(db, dag_id).await?;
    let maker = RunMaker::of(session, db, &stored.dag).await?;
    let wanted = UserRun {
        dag_id: dag_id.clone(),
        run_type: RunType::AssetMaterialization,
        run_id: None,
        logical_date: None,
        run_after: None,
        conf: Map::new(),
        partition_key: None,
        note: None,
        triggered_by: TriggeredBy::Cli,
        user: Some(session.host().user),
    };
    let made = maker.trigger(&wanted).await;
    maker.stop().await;
    let run = made.map_err(|refusal| anyhow!("the run is not made: {}", refusal.sentence()))?;
    let of_run = &run;
    let versions = db.read(|tx| async move { deadline::missed::versions(tx, of_run).await }.scope_boxed());
    let beside =
        BesideRun { display_name: stored.row.dag_display_name, note: None, versions: versions.await? };
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

    fn words(&self) -> String {
        let name = (!self.name.is_empty()).then(|| format!("name {}", self.name));
        let uri = (!self.uri.is_empty()).then(|| format!("URI {}", self.uri));
        name.into_iter().chain(uri).collect::<Vec<_>>().join(" and ")
    }

    /// The one asset that is meant.
    async fn only_asset(&self, db: &Db) -> Result<ListedAsset> {
        let mut found = assets(db, self.which()?).await?;
        match (found.pop(), found.is_empty()) {
            (Some(asset), true) => Ok(asset),
            (Some(_), false) => bail!("more than one asset exists with {}: name it by --uri", self.words()),
            (None, _) => {
                let all = assets(db, Which::default()).await?;
                let (asked, names) = if self.name.is_empty() {
                    (&self.uri, all.iter().map(|asset| asset.uri.as_str()).collect())
                } else {
                    (&self.name, all.iter().map(|asset| asset.name.as_str()).collect())
                };
                bail!("Asset with {} does not exist{}", self.words(), help(asked, names, ""))
            }
        }
    }
}

async fn assets(db: &Db, which: Which<'_>) -> Result<Vec<ListedAsset>> {
    Ok(db.read(|tx| async move { asset::list::list(tx, which).await }.scope_boxed()).await?)
}

async fn aliases(db: &Db) -> Result<Vec<StoredAlias>> {
    Ok(db.read(|tx| async move { asset::list::aliases(tx).await }.scope_boxed()).await?)
}

/// What helps to find the right name.
fn help(asked: &str, mut names: Vec<&str>, option: &str) -> String {
    names.sort_unstable();
    names.dedup();
    let near: Vec<&str> = nearest(asked, names).filter(|name| *name != asked).collect();
    if near.is_empty() {
        let option = if option.is_empty() { String::new() } else { format!(" {option}") };
        return format!("; `ferroflow assets list{option}` shows those that do");
    }
    format!("; did you mean {}?", near.join(", "))
}
