//! `ferroflow dags list-jobs`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_model::python_datetime;
use ferroflow_model::state::JobState;
use ferroflow_operations::job::{self, Job, ListRequest};
use jiff::Timestamp;

use super::VerboseArgs;
use crate::commands::operations;
use crate::output::{Cell, OutputArgs, Records};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ferroflow dags list-jobs --state running
  ferroflow dags list-jobs --limit 10 -o json")]
pub(crate) struct ListJobsArgs {
    /// Only the jobs of this DAG
    #[arg(short, long)]
    dag_id: Option<String>,
    /// Only the jobs in this state: running, success, restarting or failed
    #[arg(long, value_parser = state)]
    state: Option<JobState>,
    /// At most so many, those first that started last
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u32>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

const COLUMNS: [&str; 5] = ["dag_id", "state", "job_type", "start_date", "end_date"];

fn state(text: &str) -> Result<JobState, String> {
    text.parse().map_err(|_| "choose from running, success, restarting, failed".to_owned())
}

pub(super) fn run(args: &ListJobsArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let request = ListRequest { dag_id: args.dag_id.clone(), state: args.state, limit: args.limit };
    let jobs = block_on(async { Ok(job::list(&*operations::open(session).await?, &request).await?) })?;
    let rows = jobs.iter().map(row).collect();
    Ok(Records::new(COLUMNS.to_vec(), rows).print(args.output.output, out)?)
}

/// Nothing is the word None here, as it is in Airflow's list.
fn row(job: &Job) -> Vec<Cell> {
    let text = |text: Option<&str>| Cell::from(text.unwrap_or("None"));
    let time = |at: Option<Timestamp>| Cell::Text(at.map_or_else(|| "None".to_owned(), python_datetime));
    vec![
        text(job.dag_id.as_deref()),
        text(job.state.map(JobState::as_str)),
        text(job.job_type.as_deref()),
        time(job.start_date),
        time(job.end_date),
    ]
}
