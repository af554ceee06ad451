//! `ferroflow dags pause` and `ferroflow dags unpause`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_operations::dag::{self, PauseRequest, WhichDags};

use super::VerboseArgs;
use crate::commands::confirm::confirmed;
use crate::commands::operations;
use crate::commands::pattern::pattern;
use crate::output::{Cell, OutputArgs, Records};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow dags pause daily_report
  ferroflow dags unpause --treat-dag-id-as-regex '^sales_' --yes")]
pub(crate) struct PauseArgs {
    /// The DAG
    dag_id: String,
    /// The DAG is a regular expression: all DAGs are meant whose id it finds something in
    #[arg(long)]
    treat_dag_id_as_regex: bool,
    /// Do not ask before changing all that a regular expression finds
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

pub(super) fn run(args: &PauseArgs, to_pause: bool, session: &Session, out: &mut dyn Write) -> Result<()> {
    let pattern = if args.treat_dag_id_as_regex { Some(pattern(&args.dag_id)?) } else { None };
    let dags = match &pattern {
        Some(pattern) => WhichDags::Matching(pattern),
        None => WhichDags::Named(&args.dag_id),
    };
    block_on(async {
        let operations = operations::open(session).await?;
        let change = dag::pause(&operations, PauseRequest { dags, is_paused: to_pause }).await?;
        if change.dag_ids.is_empty() {
            writeln!(out, "No {}paused DAGs were found", if to_pause { "un" } else { "" })?;
            return Ok(());
        }
        if pattern.is_some() && !args.yes && !confirmed(&question(&change.dag_ids, to_pause), out)? {
            writeln!(out, "Operation cancelled by user")?;
            return Ok(());
        }
        let changed = change.apply().await?;
        operations.close().await;
        let row = |dag_id: &String| vec![Cell::from(dag_id.as_str()), Cell::from(!to_pause)];
        let rows = changed.iter().map(row).collect();
        Ok(Records::new(vec!["dag_id", "is_paused"], rows).print(args.output.output, out)?)
    })
}

fn question(names: &[String], to_pause: bool) -> String {
    let (word, number) = (if to_pause { "pause" } else { "unpause" }, names.len());
    format!("You are about to {word} {number} DAGs:\n{}\n\nAre you sure? [y/n]", names.join(","))
}
