//! `ferroflow tasks failed-deps`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_model::why::Reason;
use ferroflow_operations::task_instance;
use ferroflow_scheduler::why::{Answer, Asked, why};
use ferroflow_telemetry::clock;

use super::which_task::InstanceArgs;
use crate::commands::operations;
use crate::output::on_one_line;
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "`ferroflow why` tells more, and also of runs and DAGs.

Example:
  ferroflow tasks failed-deps daily_report load 2026-03-01")]
pub(crate) struct FailedDepsArgs {
    #[command(flatten)]
    instance: InstanceArgs,
}

pub(super) fn run(args: &FailedDepsArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let answer = block_on(async {
        let operations = operations::open(session).await?;
        let name = args.instance.name(&session.configuration);
        let (run, instance) = task_instance::find(&operations, name).await?;
        let asked =
            Asked { dag_id: &run.dag_id, run_id: Some(&run.run_id), task_id: Some(&instance.task_id) };
        let answer = why(&operations.db, &session.settings, asked, clock::now()).await?;
        operations.close().await;
        Ok(answer)
    })?;
    let reasons = reasons(&answer);
    if reasons.is_empty() {
        return Ok(writeln!(out, "Task instance dependencies are all met.")?);
    }
    writeln!(out, "Task instance dependencies not met:")?;
    for reason in reasons {
        writeln!(out, "{}: {}", reason.kind.as_str(), on_one_line(&reason.text))?;
    }
    Ok(())
}

/// Those of the run, which keep all of its tasks back, and those of the task; each once.
fn reasons(answer: &Answer) -> Vec<&Reason> {
    let mut all: Vec<&Reason> = Vec::new();
    for reason in answer.reasons.iter().chain(answer.parts.iter().flat_map(reasons)) {
        if all.iter().all(|told| told.text != reason.text) {
            all.push(reason);
        }
    }
    all
}
