//! `ferroflow tasks state`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_model::state::TaskState;
use ferroflow_operations::task_instance;

use super::which_task::InstanceArgs;
use crate::commands::operations;
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow tasks state daily_report load 2026-03-01
  ferroflow tasks state daily_report load_each 2026-03-01 --map-index 3")]
pub(crate) struct StateArgs {
    #[command(flatten)]
    instance: InstanceArgs,
}

pub(super) fn run(args: &StateArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let (_, instance) = block_on(async {
        let operations = operations::open(session).await?;
        Ok(task_instance::find(&operations, args.instance.name(&session.configuration)).await?)
    })?;
    Ok(writeln!(out, "{}", instance.state.map_or("None", TaskState::as_str))?)
}
