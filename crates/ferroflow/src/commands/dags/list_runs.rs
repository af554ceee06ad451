//! `ferroflow dags list-runs`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::dag_run::list::Filter;
use ferroflow_model::python_isoformat;
use ferroflow_model::state::RunState;
use ferroflow_operations::dag_run;
use jiff::Timestamp;

use super::VerboseArgs;
use crate::commands::date_arg::DateArg;
use crate::commands::operations;
use crate::output::{Cell, OutputArgs, Records};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow dags list-runs daily_report
  ferroflow dags list-runs daily_report --state failed --start-date 2026-03-01 -o json")]
pub(crate) struct ListRunsArgs {
    /// The DAG
    dag_id: String,
    /// Without the runs of backfills
    #[arg(long)]
    no_backfill: bool,
    /// Only the runs in this state: queued, running, success or failed
    #[arg(long, value_parser = state)]
    state: Option<RunState>,
    /// Only runs with this logical date or a later one
    #[arg(short, long, value_name = "DATE")]
    start_date: Option<DateArg>,
    /// Only runs with this logical date or an earlier one
    #[arg(short, long, value_name = "DATE")]
    end_date: Option<DateArg>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

const COLUMNS: [&str; 7] =
    ["dag_id", "run_id", "state", "run_after", "logical_date", "start_date", "end_date"];

fn state(text: &str) -> Result<RunState, String> {
    text.parse().map_err(|_| "choose from queued, running, success, failed".to_owned())
}

pub(super) fn run(args: &ListRunsArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let at = |date: Option<&DateArg>| date.map(|date| date.at(&session.configuration)).transpose();
    let filter = &Filter {
        dag_id: args.dag_id.clone(),
        state: args.state,
        without_backfills: args.no_backfill,
        from: at(args.start_date.as_ref())?,
        to: at(args.end_date.as_ref())?,
    };
    let runs = block_on(async {
        let operations = operations::open(session).await?;
        Ok(dag_run::list(&operations, filter).await?)
    })?;
    let rows = runs.iter().map(row).collect();
    Ok(Records::new(COLUMNS.to_vec(), rows).print(args.output.output, out)?)
}

fn row(run: &DagRun) -> Vec<Cell> {
    let time = |at: Option<Timestamp>| Cell::Text(at.map(python_isoformat).unwrap_or_default());
    vec![
        Cell::from(run.dag_id.as_str()),
        Cell::from(run.run_id.as_str()),
        Cell::from(run.state.as_str()),
        time(Some(run.run_after)),
        time(run.logical_date),
        time(run.start_date),
        time(run.end_date),
    ]
}
