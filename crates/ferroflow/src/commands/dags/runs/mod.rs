//! `ferroflow dags runs`: how runs went, as a picture: a grid of runs by tasks, or a Gantt chart of one run.

mod document;
mod gantt;
mod grid;
mod longest_path;
mod mark;
mod outline;

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_model::Json;
use ferroflow_operations::Operations;
use ferroflow_operations::dag_run::{self, RunHistory, RunTries};
use ferroflow_telemetry::clock;

use super::VerboseArgs;
use crate::commands::operations;
use crate::commands::which_run::run_name;
use crate::output::{AnswerArgs, AnswerFormat, Terminal, Text};
use crate::session::{Session, block_on};
use gantt::Chart;
use grid::Grid;

const EXAMPLES: &str = "\
A column of the grid is a run, the newest at the right; a row is a task. A mapped task has one row, which shows the worst \
of its instances. Tasks that the DAG does not have any more come last.

A bar of the chart is a task instance: the time in the queue, earlier tries, the last try. The tasks that the run waited \
for, one after the other, are marked with *.

Examples:
  ferroflow dags runs daily_report
  ferroflow dags runs daily_report --limit 60
  ferroflow dags runs daily_report --gantt
  ferroflow dags runs daily_report scheduled__2026-03-01T00:00:00+00:00
  ferroflow dags runs daily_report 2026-03-01 -o json";

/// How many runs are shown where there is no terminal that limits them.
const USUAL_LIMIT: u32 = 25;
/// The width of a chart where there is no terminal.
const USUAL_WIDTH: usize = 100;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunsArgs {
    /// The DAG
    dag_id: String,
    /// One of its runs, by its name or logical date: shows its Gantt chart
    run_id: Option<String>,
    /// Show the Gantt chart of the newest run, if no other is named
    #[arg(long)]
    gantt: bool,
    /// How many of the newest runs to show; without it, 25 or as many as fit
    #[arg(short, long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(conflicts_with_all = ["run_id", "gantt"])]
    limit: Option<u32>,
    #[command(flatten)]
    answer: AnswerArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

pub(super) fn run(args: &RunsArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    block_on(async {
        let operations = operations::open(session).await?;
        let outcome = if args.gantt || args.run_id.is_some() {
            show_chart(args, session, &operations, out).await
        } else {
            show_grid(args, session, &operations, out).await
        };
        operations.close().await;
        outcome
    })
}

async fn show_grid(
    args: &RunsArgs,
    session: &Session,
    operations: &Operations,
    out: &mut dyn Write,
) -> Result<()> {
    let limit = args.limit.unwrap_or(USUAL_LIMIT);
    let RunHistory { stored, runs, counts } = dag_run::newest_runs(operations, &args.dag_id, limit).await?;
    let mut grid = Grid::new(&stored.dag, runs, &counts);
    match args.answer.output {
        AnswerFormat::Json => writeln!(out, "{}", Json::from(document::of_grid(&args.dag_id, &grid)))?,
        AnswerFormat::Text => {
            let terminal = Terminal::of(session.environment());
            if terminal.is_live {
                grid.fit(usize::from(Terminal::size().0).saturating_sub(1));
            }
            print(&grid.lines(&args.dag_id), terminal, out)?;
        }
    }
    Ok(())
}

async fn show_chart(
    args: &RunsArgs,
    session: &Session,
    operations: &Operations,
    out: &mut dyn Write,
) -> Result<()> {
    let dag_id = args.dag_id.as_str();
    let name = args.run_id.as_deref().map(|text| run_name(&session.configuration, dag_id, text));
    let RunTries { stored, run, tries } = dag_run::tries(operations, dag_id, name).await?;
    let terminal = Terminal::of(session.environment());
    let width =
        if terminal.is_live { usize::from(Terminal::size().0).saturating_sub(1) } else { USUAL_WIDTH };
    let chart = Chart::new(&stored.dag, &run, &tries, clock::now());
    match args.answer.output {
        AnswerFormat::Json => writeln!(out, "{}", Json::from(document::of_chart(dag_id, &run, &chart)))?,
        AnswerFormat::Text => print(&chart.lines(dag_id, &run, width, terminal.is_live), terminal, out)?,
    }
    Ok(())
}

fn print(lines: &[Text], terminal: Terminal, out: &mut dyn Write) -> Result<()> {
    for line in lines {
        writeln!(out, "{}", line.painted(None, terminal.colours).trim_end())?;
    }
    Ok(())
}
