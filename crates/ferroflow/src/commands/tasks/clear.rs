//! `ferroflow tasks clear`

use std::io::Write;

use anyhow::{Result, anyhow};
use clap::Args;
use ferroflow_model::state::TaskState;
use ferroflow_operations::dag::WhichDags;
use ferroflow_operations::task_instance::{self, ClearRequest, ToClear};
use ferroflow_telemetry::chain;
use regex::Regex;

use crate::commands::confirm::confirmed;
use crate::commands::dags::bundles::BundleArgs;
use crate::commands::date_arg::DateArg;
use crate::commands::operations;
use crate::commands::pattern::pattern;
use crate::output::{Format, Progress, on_one_line};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(
    after_help = "A cleared task instance begins anew, and a finished run that has one is queued again.

Examples:
  ferroflow tasks clear daily_report --only-failed --start-date 2026-03-01 --end-date 2026-03-07
  ferroflow tasks clear daily_report --task-regex load --downstream --yes"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ClearArgs {
    /// The DAG
    dag_id: String,
    /// Only tasks whose id has this text in it
    #[arg(short, long, value_name = "TEXT")]
    task_regex: Option<String>,
    /// Only in runs with this logical date or a later one
    #[arg(short, long, value_name = "DATE")]
    start_date: Option<DateArg>,
    /// Only in runs with this logical date or an earlier one
    #[arg(short, long, value_name = "DATE")]
    end_date: Option<DateArg>,
    /// With --task-regex: all that these tasks wait for, too
    #[arg(short, long)]
    upstream: bool,
    /// With --task-regex: all that wait for these tasks, too
    #[arg(short, long)]
    downstream: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Only those that failed, or did not run since another failed
    #[arg(short = 'f', long)]
    only_failed: bool,
    /// Only those that run; they are stopped, and run again
    #[arg(short = 'r', long)]
    only_running: bool,
    /// The DAG is a regular expression: all DAGs are meant whose id it finds something in
    #[arg(short = 'R', long)]
    dag_regex: bool,
    #[command(flatten)]
    bundles: BundleArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

pub(super) fn run(args: &ClearArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    args.bundles.check(&session.settings)?;
    block_on(async {
        let operations = operations::open(session).await?;
        let action = task_instance::clear_action(&args.dag_id);
        let pattern = args.dag_regex.then(|| pattern(&args.dag_id)).transpose();
        let pattern = operations::logged_if_failed(&operations, &action, pattern).await?;
        let request = args.request(pattern.as_ref(), session);
        let request = operations::logged_if_failed(&operations, &action, request).await?;
        let clearing = task_instance::clear(&operations, &request).await?;
        let runs = &clearing.runs;
        if runs.is_empty() {
            return Ok(());
        }
        if !args.yes && !confirmed(&question(runs), out)? {
            return Ok(writeln!(out, "Cancelled, nothing was cleared.")?);
        }
        let mut progress = Progress::new(runs.len(), "runs", Format::Table);
        clearing.apply(|done| progress.tell(done)).await.map_err(|(place, error)| {
            let ToClear { dag_id, run_id, .. } = &runs[place];
            anyhow!("run {run_id} of {dag_id} is not cleared: {}", chain(&error))
        })?;
        drop(progress);
        operations.close().await;
        Ok(())
    })
}

impl ClearArgs {
    fn request<'a>(&'a self, pattern: Option<&'a Regex>, session: &Session) -> Result<ClearRequest<'a>> {
        let at = |date: Option<&DateArg>| date.map(|date| date.at(&session.configuration)).transpose();
        Ok(ClearRequest {
            dags: pattern.map_or(WhichDags::Named(&self.dag_id), WhichDags::Matching),
            bundles: &self.bundles.bundle_name,
            task_text: self.task_regex.as_deref(),
            upstream: self.upstream,
            downstream: self.downstream,
            from: at(self.start_date.as_ref())?,
            to: at(self.end_date.as_ref())?,
            only_failed: self.only_failed,
            only_running: self.only_running,
        })
    }
}

/// All that would be cleared, a line for each.
fn question(all: &[ToClear]) -> String {
    let number: usize = all.iter().map(|run| run.instances.len()).sum();
    let mut lines = vec![format!("You are about to clear these {number} task instances:")];
    for run in all {
        for instance in &run.instances {
            let index =
                if instance.map_index < 0 { String::new() } else { format!("[{}]", instance.map_index) };
            let state = instance.state.map_or("none", TaskState::as_str);
            let line = format!("  {}.{}{index} {} [{state}]", run.dag_id, instance.task_id, run.run_id);
            lines.push(on_one_line(&line));
        }
    }
    lines.push("\nAre you sure? [y/n]".to_owned());
    lines.join("\n")
}
