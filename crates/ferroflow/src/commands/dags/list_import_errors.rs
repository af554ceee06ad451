//! `ferroflow dags list-import-errors`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_operations::import_error::{self, ImportErrorRow};

use super::VerboseArgs;
use super::bundles::BundleArgs;
use super::parsing::{self, LocalFile, with_parser};
use crate::commands::{ReportedFailure, operations};
use crate::output::{OutputArgs, Records};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
pub(crate) struct ListImportErrorsArgs {
    #[command(flatten)]
    bundles: BundleArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
    /// Parse the files here and now, whatever the database says
    #[arg(short, long)]
    local: bool,
}

const COLUMNS: [&str; 3] = ["bundle_name", "filepath", "error"];

pub(super) fn run(args: &ListImportErrorsArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    args.bundles.check(&session.settings)?;
    let rows = if args.local { from_files(args, session)? } else { from_database(args, session)? };
    let has_any = !rows.is_empty();
    let rows: Vec<Vec<Option<String>>> = rows.into_iter().map(|row| row.map(Some).to_vec()).collect();
    Records::new(COLUMNS.to_vec(), rows).print(args.output.output, out)?;
    if has_any { Err(ReportedFailure.into()) } else { Ok(()) }
}

fn from_database(args: &ListImportErrorsArgs, session: &Session) -> Result<Vec<[String; 3]>> {
    let errors = block_on(async { Ok(import_error::list(&*operations::open(session).await?).await?) })?;
    let asked = errors.into_iter().filter(|error| args.bundles.includes(error.bundle_name.as_deref()));
    let row = |error: ImportErrorRow| {
        [error.bundle_name, error.filename, error.stacktrace].map(Option::unwrap_or_default)
    };
    Ok(asked.map(row).collect())
}

fn from_files(args: &ListImportErrorsArgs, session: &Session) -> Result<Vec<[String; 3]>> {
    let files: Vec<LocalFile<()>> = with_parser(session, async |cx| {
        parsing::parse_all(cx, &args.bundles.bundle_name, args.output.output).await
    })?;
    let errors = files.into_iter().flat_map(|file| {
        let bundle = file.bundle_name;
        file.errors.into_iter().map(move |error| [bundle.clone(), error.filename, error.stacktrace])
    });
    Ok(errors.collect())
}
