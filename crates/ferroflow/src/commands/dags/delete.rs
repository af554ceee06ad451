//! `ferroflow dags delete`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_operations::dag;

use super::VerboseArgs;
use crate::commands::confirm::confirmed;
use crate::commands::operations;
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "A DAG whose file is still there comes back with the next parse, without its history.

Examples:
  ferroflow dags delete old_report
  ferroflow dags delete old_report --yes")]
pub(crate) struct DeleteArgs {
    /// The DAG
    dag_id: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

const QUESTION: &str = "This will drop all existing records related to the specified DAG. Proceed? (y/n)";

pub(super) fn run(args: &DeleteArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    block_on(async {
        let operations = operations::open(session).await?;
        let deletion = dag::delete(&operations, &args.dag_id).await;
        if !args.yes && !confirmed(QUESTION, out)? {
            writeln!(out, "Cancelled")?;
            return Ok(());
        }
        let rows = deletion.apply().await?;
        Ok(writeln!(out, "Removed {rows} record(s)")?)
    })
}
