//! `ferroflow dags next-execution`

use std::io::Write;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use ferroflow_db::{Json, dag};
use ferroflow_model::python_datetime;
use ferroflow_model::stored_dag::ParsedDag;
use ferroflow_model::timetable::{DataInterval, Restriction, RunInfo, Timetable};
use ferroflow_python::timetables::Timetables;
use ferroflow_python::{ForkServer, RunExtensions};
use ferroflow_telemetry::clock;
use jiff::Timestamp;

use super::VerboseArgs;
use super::stored::{self, StoredDag};
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
    let (row, runs) = block_on(async {
        let db = stored::connect(session).await?;
        let stored = stored::find(&db, &args.dag_id).await?;
        let runs = next_runs(&stored, args.num_executions, session).await?;
        Ok((stored.row, runs))
    })?;
    if row.is_paused {
        note(&"[INFO] Please be reminded this DAG is PAUSED now.")?;
    }
    if runs.len() < args.num_executions as usize {
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
    if runs.len() < args.num_executions as usize {
        writeln!(out, "None")?;
    }
    Ok(())
}

/// The run that the scheduler will make next, and those that follow it by the timetable, as many as there are.
async fn next_runs(stored: &StoredDag, count: u32, session: &Session) -> Result<Vec<RunInfo>> {
    let timetable = &stored.dag.timetable;
    let mut runs: Vec<RunInfo> = scheduled_run(&stored.row, timetable).into_iter().collect();
    if count == 1 || runs.is_empty() {
        return Ok(runs);
    }
    let custom = if timetable.custom().is_some() {
        Some(CustomTimetable::start(stored, session).await?)
    } else {
        None
    };
    for _ in 1..count {
        let Some(last) = runs.last() else { break };
        let next = match &custom {
            Some(custom) => custom.run_after(last).await?,
            None => run_after(timetable, last, clock::now())?,
        };
        match next {
            Some(run) => runs.push(run),
            None => break,
        }
    }
    if let Some(custom) = custom {
        custom.server.stop().await;
    }
    Ok(runs)
}

/// What the row of a DAG says about its next run.
fn scheduled_run(row: &dag::Dag, timetable: &Timetable) -> Option<RunInfo> {
    let run_after = row.next_dagrun_create_after?;
    let data_interval = row.next_dagrun.map(|logical_date| {
        match (row.next_dagrun_data_interval_start, row.next_dagrun_data_interval_end) {
            (Some(start), Some(end)) => DataInterval { start, end },
            // The row is older than data intervals: the run covers what its timetable covers.
            _ => match timetable {
                Timetable::CronDataInterval(_) | Timetable::DeltaDataInterval(_) => {
                    DataInterval { start: logical_date, end: run_after }
                }
                _ => DataInterval::exact(logical_date),
            },
        }
    });
    Some(RunInfo {
        run_after,
        data_interval,
        partition_date: row.next_dagrun_partition_date,
        partition_key: row.next_dagrun_partition_key.clone(),
    })
}

/// Whatever the bounds of the DAG: as Airflow asks.
const UNBOUNDED: Restriction = Restriction { earliest: None, latest: None, catchup: true };

/// The run after another one.
fn run_after(timetable: &Timetable, last: &RunInfo, now: Timestamp) -> Result<Option<RunInfo>> {
    let next = timetable.next_run(Some(last), &UNBOUNDED, now);
    next.map_err(|reason| {
        anyhow!("the run after {} cannot be told: {reason}", python_datetime(last.run_after))
    })
}

/// A timetable that only Python can evaluate, and Python.
struct CustomTimetable {
    server: ForkServer,
    timetables: Arc<Timetables>,
    document: Json,
}

impl CustomTimetable {
    async fn start(stored: &StoredDag, session: &Session) -> Result<Self> {
        let name = &stored.dag.dag_id;
        let parsed = ParsedDag::read(&stored.document).map_err(|refusal| {
            anyhow!("the timetable of DAG {name:?} cannot be read: {}", refusal.problems)
        })?;
        let document =
            parsed.custom_timetable.ok_or_else(|| anyhow!("DAG {name:?} has no timetable of its own"))?;
        let server = session.start_python().await?;
        let RunExtensions { timetables, .. } = RunExtensions::new(&server, &session.settings);
        Ok(Self { server, timetables, document })
    }

    async fn run_after(&self, last: &RunInfo) -> Result<Option<RunInfo>> {
        let next = self.timetables.next_run(&self.document, Some(last), &UNBOUNDED).await;
        next.map_err(|error| anyhow!("{}", error.explanation()))
    }
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
