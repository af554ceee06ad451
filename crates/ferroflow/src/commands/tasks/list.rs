//! `ferroflow tasks list`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_operations::dag;

use crate::commands::dags::bundles::BundleArgs;
use crate::commands::operations;
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "Example:
  ferroflow tasks list daily_report")]
pub(crate) struct ListArgs {
    /// The DAG
    dag_id: String,
    #[command(flatten)]
    bundles: BundleArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

pub(super) fn run(args: &ListArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    args.bundles.check(&session.settings)?;
    let stored = block_on(async {
        let operations = operations::open(session).await?;
        Ok(dag::find(&operations.db, &args.dag_id).await?)
    })?;
    let mut names: Vec<&str> = stored.dag.tasks().iter().map(|task| &*task.task_id).collect();
    names.sort_unstable();
    names.iter().try_for_each(|name| Ok(writeln!(out, "{name}")?))
}
