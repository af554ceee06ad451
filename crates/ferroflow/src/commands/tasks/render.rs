//! `ferroflow tasks render`

use std::io::Write;

use anyhow::{Result, anyhow};
use clap::Args;
use ferroflow_operations::dag::{self, StoredDag};
use ferroflow_operations::task_instance;
use ferroflow_python::helper::HelperError;
use ferroflow_python::rendering::{RenderedField, Templates, render};

use super::which_task::InstanceArgs;
use crate::commands::operations;
use crate::output::on_one_line;
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow tasks render daily_report load 2026-03-01
  ferroflow tasks render daily_report load_each 2026-03-01 --map-index 3

Secrets that templates ask for are shown.")]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    instance: InstanceArgs,
}

/// What a template says that asks for an XCom, say.
const NEEDS_A_SUPERVISOR: &str = "SUPERVISOR_COMMS";

pub(super) fn run(args: &RenderArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let args = &args.instance;
    args.bundles.check(&session.settings)?;
    let fields = block_on(async {
        let operations = operations::open(session).await?;
        let stored = dag::find(&operations.db, &args.dag_id).await?;
        let server = session.start_python().await?;
        let limit = session.settings.dag_processor.dag_file_processor_timeout;
        let rendered = render(&server, templates(args, &stored), limit).await;
        server.stop().await;
        rendered.map_err(|error| explained(&error, args, &stored))
    })?;
    for RenderedField { name, text } in fields {
        let rule = format!("# {}", "-".repeat(58));
        writeln!(out, "{rule}\n# property: {name}\n{rule}\n{text}")?;
    }
    Ok(())
}

fn templates<'a>(args: &'a InstanceArgs, stored: &'a StoredDag) -> Templates<'a> {
    let file = stored.row.relative_fileloc.as_deref().or(stored.row.fileloc.as_deref());
    Templates {
        bundle_name: &stored.row.bundle_name,
        file: file.unwrap_or_default(),
        dag_id: &args.dag_id,
        task_id: &args.task_id,
        map_index: args.map_index,
        run: &args.logical_date_or_run_id,
    }
}

/// What is wrong with what was asked for says more than what Python says of it.
fn explained(error: &HelperError, args: &InstanceArgs, stored: &StoredDag) -> anyhow::Error {
    if let Err(problem) = task_instance::check_mapped(&stored.dag, &args.task_id, args.map_index) {
        return problem.into();
    }
    let (dag_id, task_id) = (&args.dag_id, &args.task_id);
    let said = on_one_line(&error.to_string());
    if said.contains(NEEDS_A_SUPERVISOR) {
        return anyhow!(
            "a template of task {task_id} asks for what only a task has that runs, an XCom, say; `ferroflow tasks test \
             {dag_id} {task_id}` runs it"
        );
    }
    anyhow!("the templates of task {task_id} cannot be filled in: {said}")
}
