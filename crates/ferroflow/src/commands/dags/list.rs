//! `ferroflow dags list`

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use ferroflow_dagproc::Context;
use ferroflow_db::Json;
use ferroflow_model::stored_dag::ParsedDag;
use ferroflow_operations::dag;

use super::bundles::BundleArgs;
use super::parsing::{self, LocalDag, LocalFile, Told, with_parser};
use super::{VerboseArgs, detail};
use crate::commands::operations;
use crate::output::{Cell, OutputArgs, Records, note};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,
    /// The columns to show, in this order, between commas: any field that `dags details` shows
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    #[arg(default_value = "dag_id,fileloc,owners,is_paused,bundle_name,bundle_version")]
    columns: Vec<String>,
    #[command(flatten)]
    bundles: BundleArgs,
    /// Parse the files here and now, whatever the database says
    #[arg(short, long)]
    local: bool,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

pub(super) fn run(args: &ListArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let columns = columns(&args.columns)?;
    args.bundles.check(&session.settings)?;
    let (dags, errors) = if args.local { from_files(args, session)? } else { from_database(args, session)? };
    if errors > 0 {
        let local = if args.local { " --local" } else { "" };
        note(&format!(
            "Error: Failed to load all files. For details, run `ferroflow dags list-import-errors{local}`"
        ))?;
    }
    let row = |fields: Vec<(&'static str, Cell)>| {
        let value =
            |column: &&str| fields.iter().find(|(name, _)| name == column).map(|(_, value)| value.clone());
        columns.iter().map(|column| value(column).unwrap_or(Cell::Nothing)).collect()
    };
    let rows = dags.into_iter().map(row).collect::<Vec<Vec<Cell>>>();
    Ok(Records::new(columns.clone(), rows).print(args.output.output, out)?)
}

/// The columns that exist; the others are told and left out.
fn columns(asked: &[String]) -> Result<Vec<&'static str>> {
    let mut invalid = Vec::new();
    let mut columns: Vec<&'static str> = Vec::new();
    for name in asked.iter().map(|name| name.trim()) {
        match detail::FIELDS.into_iter().find(|field| *field == name) {
            Some(field) if columns.contains(&field) => {}
            Some(field) => columns.push(field),
            None => invalid.push(name),
        }
    }
    let mut valid = detail::FIELDS;
    valid.sort_unstable();
    let valid = valid.join(", ");
    if columns.is_empty() {
        bail!("--columns: there is no column {}; there are {valid}", invalid.join(", "));
    }
    if !invalid.is_empty() {
        let invalid = invalid.join(", ");
        note(&format!(
            "Error: Ignoring the following invalid columns: {invalid}. List of valid columns: {valid}"
        ))?;
    }
    Ok(columns)
}

type Listed = (Vec<Vec<(&'static str, Cell)>>, usize);

fn from_database(args: &ListArgs, session: &Session) -> Result<Listed> {
    let listed = block_on(async {
        let operations = operations::open(session).await?;
        Ok(dag::list(&operations, &args.bundles.bundle_name).await?)
    })?;
    let key = session.settings.api.secret_key.as_ref();
    let details = listed.dags.iter().map(|dag| detail::of_row(dag, key)).collect();
    Ok((details, listed.import_errors))
}

/// The DAGs of the files, with what the database knows of those that it has.
fn from_files(args: &ListArgs, session: &Session) -> Result<Listed> {
    let key = session.settings.api.secret_key.as_ref();
    with_parser(session, async |cx| {
        let files = parsing::parse_all(cx, &args.bundles.bundle_name, args.output.output).await?;
        let errors = files.iter().map(|file: &LocalFile<Fields>| file.errors.len()).sum();
        let mut dags: Vec<LocalDag<Fields>> = files.into_iter().flat_map(|file| file.dags).collect();
        dags.sort_by(|one, other| one.dag_id.cmp(&other.dag_id));
        let operations = operations::open(session).await?;
        let dag_ids: Vec<&str> = dags.iter().map(|dag| dag.dag_id.as_str()).collect();
        let rows = dag::details_of(&operations, &dag_ids).await?;
        let mut details = Vec::with_capacity(dags.len());
        for (dag, row) in dags.into_iter().zip(rows) {
            details.push(match row {
                Some(row) => detail::of_row(&row, key),
                None => described(cx, dag).await?,
            });
        }
        Ok((details, errors))
    })
}

/// What a file says about a DAG.
struct Fields {
    cells: Vec<(&'static str, Cell)>,
    /// Only Python knows what this one is called.
    custom_timetable: Option<Json>,
}

impl Told for Fields {
    fn of(dag: &ParsedDag) -> Self {
        Self { cells: detail::of_file(dag), custom_timetable: dag.custom_timetable.clone() }
    }
}

async fn described(cx: &Context, dag: LocalDag<Fields>) -> Result<Vec<(&'static str, Cell)>> {
    let mut cells = dag.told.cells;
    let Some(timetable) = &dag.told.custom_timetable else { return Ok(cells) };
    match cx.describe_timetable(timetable).await {
        Ok(described) => detail::set_timetable(&mut cells, &described.columns),
        Err(reason) => note(&format!("Error: {}: {reason}", dag.dag_id))?,
    }
    Ok(cells)
}
