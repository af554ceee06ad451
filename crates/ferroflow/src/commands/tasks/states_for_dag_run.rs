//! `ferroflow tasks states-for-dag-run`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_db::task_instance::siblings::Sibling;
use ferroflow_model::python_isoformat;
use ferroflow_model::state::TaskState;
use ferroflow_operations::task_instance;
use jiff::Timestamp;

use crate::commands::operations;
use crate::commands::which_run::run_name;
use crate::output::{Cell, OutputArgs, Records};
use crate::session::{Session, block_on};

#[derive(Args, Debug)]
#[command(after_help = "Example:
  ferroflow tasks states-for-dag-run daily_report 2026-03-01 -o json")]
pub(crate) struct StatesForDagRunArgs {
    /// The DAG
    dag_id: String,
    /// The run, by its name or its logical date
    logical_date_or_run_id: String,
    #[command(flatten)]
    output: OutputArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

pub(super) fn run(args: &StatesForDagRunArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let name = run_name(&session.configuration, &args.dag_id, &args.logical_date_or_run_id);
    let (run, instances) = block_on(async {
        let operations = operations::open(session).await?;
        Ok(task_instance::list(&operations, name).await?)
    })?;
    let is_any_mapped = instances.iter().any(|instance| instance.map_index >= 0);
    let mut columns = vec!["dag_id", "logical_date", "task_id", "state", "start_date", "end_date"];
    if is_any_mapped {
        columns.push("map_index");
    }
    let date = time(run.logical_date);
    let row = |instance: &Sibling| {
        let mut cells = vec![
            Cell::from(args.dag_id.as_str()),
            date.clone(),
            Cell::from(instance.task_id.as_str()),
            Cell::from(instance.state.map_or("", TaskState::as_str)),
            time(instance.start_date),
            time(instance.end_date),
        ];
        if is_any_mapped {
            let index = (instance.map_index >= 0).then(|| instance.map_index.to_string());
            cells.push(Cell::Text(index.unwrap_or_default()));
        }
        cells
    };
    Ok(Records::new(columns, instances.iter().map(row).collect()).print(args.output.output, out)?)
}

fn time(at: Option<Timestamp>) -> Cell {
    Cell::Text(at.map(python_isoformat).unwrap_or_default())
}
