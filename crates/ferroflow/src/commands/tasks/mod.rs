//! `ferroflow tasks`

mod clear;
mod failed_deps;
mod list;
mod render;
mod state;
mod states_for_dag_run;
mod test;
mod which_task;

use std::io::Write;

use anyhow::Result;
use clap::Subcommand;
use ferroflow_config::Environment;

use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// Let task instances begin anew
    Clear(clear::ClearArgs),
    /// Say what a task instance waits for
    FailedDeps(failed_deps::FailedDepsArgs),
    /// List the tasks of a DAG
    List(list::ListArgs),
    /// Show the fields of a task that are templates, filled in
    ///
    /// The DAG's file is imported anew. There need not be a run of that name or date.
    Render(render::RenderArgs),
    /// Show where a task instance stands
    State(state::StateArgs),
    /// Show where all task instances of a run stand
    StatesForDagRun(states_for_dag_run::StatesForDagRunArgs),
    /// Run one task here and now, whatever it depends on
    ///
    /// If there is no run of that name or date, one is made for it and deleted afterwards.
    Test(test::TestArgs),
}

pub(crate) fn run(command: &TasksCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start_quietly(environment)?;
    match command {
        TasksCommand::Clear(args) => clear::run(args, &session, out),
        TasksCommand::FailedDeps(args) => failed_deps::run(args, &session, out),
        TasksCommand::List(args) => list::run(args, &session, out),
        TasksCommand::Render(args) => render::run(args, &session, out),
        TasksCommand::State(args) => state::run(args, &session, out),
        TasksCommand::StatesForDagRun(args) => states_for_dag_run::run(args, &session, out),
        TasksCommand::Test(args) => test::run(args, &session, out),
    }
}
