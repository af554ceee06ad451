//! `ferroflow dags next-execution`

use std::io::Write;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use ferroflow_model::python_datetime;
use ferroflow_model::timetable::RunInfo;
use ferroflow_operations::dag;

use super::VerboseArgs;
use crate::commands::operations;
use crate::output::{Format, Records, note};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
pub(crate) struct NextExecutionArgs {
    /// The DAG
    dag_id: String,
    /// Show all that is known of each run, as a table
    #[arg(long)]
    table: bool,
    /// What to show of each run
    #[arg(long, value_enum)]
    field: Option<Field>,
    /// How many runs to show
    #[arg(short, long, default_value_t = 1, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    num_executions: u32,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

/// Something about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Field {
    LogicalDate,
    #[value(name = "data_interval.start")]
    DataIntervalStart,
    #[value(name = "data_interval.end")]
    DataIntervalEnd,
    PartitionKey,
    PartitionDate,
    RunAfter,
}

const NO_RUN: &str =
    "[WARN] No following schedule can be found. This DAG may have schedule interval '@once' or `None`.";

pub(super) fn run(args: &NextExecutionArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    if args.table && args.field.is_some() {
        bail!("Cannot use --table and --field together");
    }
    let count = args.num_executions as usize;
    let (row, runs) = block_on(async {
        let operations = operations::open(session).await?;
        let next = dag::next_runs(&operations, &args.dag_id, count).await;
        operations.close().await;
        Ok(next?)
    })?;
    if row.is_paused {
        note(&"[INFO] Please be reminded this DAG is PAUSED now.")?;
    }
    if runs.len() < count {
        note(&NO_RUN)?;
    }
    if args.table {
        return print_table(&runs, row.timetable_partitioned, out);
    }
    let usual = if row.timetable_partitioned { Field::PartitionKey } else { Field::LogicalDate };
    let field = args.field.unwrap_or(usual);
    for run in &runs {
        let value = field.of(run).map(|value| value.replacen(' ', "T", usize::from(field.is_time())));
        writeln!(out, "{}", value.as_deref().unwrap_or("None"))?;
    }
    if runs.len() < count {
        writeln!(out, "None")?;
    }
    Ok(())
}

fn print_table(runs: &[RunInfo], is_partitioned: bool, out: &mut dyn Write) -> Result<()> {
    let fields: &[Field] = if is_partitioned {
        &[Field::PartitionKey, Field::PartitionDate, Field::RunAfter]
    } else {
        &[Field::LogicalDate, Field::DataIntervalStart, Field::DataIntervalEnd, Field::RunAfter]
    };
    let columns = fields.iter().map(|field| field.name()).collect();
    let rows = runs.iter().map(|run| fields.iter().map(|field| field.of(run)).collect::<Vec<_>>());
    Ok(Records::new(columns, rows.collect()).print(Format::Table, out)?)
}

impl Field {
    fn name(self) -> &'static str {
        match self {
            Self::LogicalDate => "logical_date",
            Self::DataIntervalStart => "data_interval.start",
            Self::DataIntervalEnd => "data_interval.end",
            Self::PartitionKey => "partition_key",
            Self::PartitionDate => "partition_date",
            Self::RunAfter => "run_after",
        }
    }

    fn is_time(self) -> bool {
        self != Self::PartitionKey
    }

    fn of(self, run: &RunInfo) -> Option<String> {
        let at = match self {
            Self::LogicalDate => run.logical_date(),
            Self::DataIntervalStart => run.data_interval.map(|interval| interval.start),
            Self::DataIntervalEnd => run.data_interval.map(|interval| interval.end),
            Self::PartitionKey => return run.partition_key.clone(),
            Self::PartitionDate => run.partition_date,
            Self::RunAfter => Some(run.run_after),
        };
        at.map(python_datetime)
    }
}
