//! `ferroflow dags runs`: how runs went, as a picture: a grid of runs by tasks, or a Gantt chart of one run.

mod document;
mod gantt;
mod grid;
mod longest_path;
mod mark;
mod outline;

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use ferroflow_db::dag_run::history::{PastRun, TaskCount, Try};
use ferroflow_db::{Db, ScopedFutureExt as _, dag_run};
use ferroflow_model::Json;
use ferroflow_telemetry::clock;

use super::{VerboseArgs, stored};
use crate::commands::which_run::require_run;
use crate::output::{AnswerArgs, AnswerFormat, Terminal, Text};
use crate::session::{Session, block_on};
use gantt::Chart;
use grid::Grid;
use stored::StoredDag;

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
        let db = stored::connect(session).await?;
        let dag = stored::find(&db, &args.dag_id).await?;
        let outcome = if args.gantt || args.run_id.is_some() {
            show_chart(args, session, &db, &dag, out).await
        } else {
            show_grid(args, session, &db, &dag, out).await
        };
        db.close().await;
        outcome
    })
}

async fn show_grid(
    args: &RunsArgs,
    session: &Session,
    db: &Db,
    dag: &StoredDag,
    out: &mut dyn Write,
) -> Result<()> {
    let limit = args.limit.unwrap_or(USUAL_LIMIT);
    let (runs, counts) = runs_and_counts(db, &args.dag_id, limit).await?;
    let mut grid = Grid::new(&dag.dag, runs, &counts);
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

async fn runs_and_counts(db: &Db, dag_id: &str, limit: u32) -> Result<(Vec<PastRun>, Vec<TaskCount>)> {
    let read = db.read(|tx| {
        async move {
            let runs = dag_run::history::newest_runs(tx, dag_id, limit).await?;
            let names: Vec<&str> = runs.iter().map(|run| run.run_id.as_str()).collect();
            let counts = dag_run::history::task_counts(tx, dag_id, &names).await?;
            Ok((runs, counts))
        }
        .scope_boxed()
    });
    Ok(read.await?)
}

async fn show_chart(
    args: &RunsArgs,
    session: &Session,
    db: &Db,
    dag: &StoredDag,
    out: &mut dyn Write,
) -> Result<()> {
    let dag_id = args.dag_id.as_str();
    let run = match &args.run_id {
        Some(text) => require_run(db, &session.configuration, dag_id, text).await?.into(),
        None => newest_run(db, dag_id).await?,
    };
    let run_id = run.run_id.as_str();
    let tries: Vec<Try> =
        db.read(|tx| async move { dag_run::history::tries(tx, dag_id, run_id).await }.scope_boxed()).await?;
    let terminal = Terminal::of(session.environment());
    let width =
        if terminal.is_live { usize::from(Terminal::size().0).saturating_sub(1) } else { USUAL_WIDTH };
    let chart = Chart::new(&dag.dag, &run, &tries, clock::now());
    match args.answer.output {
        AnswerFormat::Json => writeln!(out, "{}", Json::from(document::of_chart(dag_id, &run, &chart)))?,
        AnswerFormat::Text => print(&chart.lines(dag_id, &run, width, terminal.is_live), terminal, out)?,
    }
    Ok(())
}

async fn newest_run(db: &Db, dag_id: &str) -> Result<PastRun> {
    let runs =
        db.read(|tx| async move { dag_run::history::newest_runs(tx, dag_id, 1).await }.scope_boxed()).await?;
    match runs.into_iter().next() {
        Some(run) => Ok(run),
        None => bail!("DAG {dag_id:?} has no runs; `ferroflow dags trigger {dag_id}` makes one"),
    }
}

fn print(lines: &[Text], terminal: Terminal, out: &mut dyn Write) -> Result<()> {
    for line in lines {
        writeln!(out, "{}", line.painted(None, terminal.colours).trim_end())?;
    }
    Ok(())
}
