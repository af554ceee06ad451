//! `ferroflow dags reserialize`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_dagproc::once::Pass;

use super::VerboseArgs;
use super::bundles::BundleArgs;
use super::parsing::with_parser;
use crate::output::{Format, Progress, note};
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct ReserializeArgs {
    #[command(flatten)]
    bundles: BundleArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

pub(super) fn run(args: &ReserializeArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    args.bundles.check(&session.settings)?;
    let stored = with_parser(session, async |cx| {
        let pass = Pass::to_store(cx, &args.bundles.bundle_name).await?;
        let mut progress = Progress::new(pass.files(), "files stored", Format::Table);
        Ok(pass.store(|done| progress.tell(done)).await?)
    })?;
    let dags: usize = stored.iter().map(|file| file.dags).sum();
    let broken = stored.iter().filter(|file| file.import_errors > 0).count();
    writeln!(out, "DAGs stored: {dags}, of {} files", stored.len())?;
    if broken > 0 {
        note(&format!(
            "Error: {broken} of the files have import errors. For details, run `ferroflow dags list-import-errors`"
        ))?;
    }
    Ok(())
}
