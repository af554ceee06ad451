//! `ferroflow tasks`

mod test;

use std::io::Write;

use anyhow::Result;
use clap::Subcommand;
use ferroflow_config::Environment;

use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// Run one task here and now, whatever it depends on
    ///
    /// If there is no run of that name or date, one is made for it and deleted afterwards.
    Test(test::TestArgs),
}

pub(crate) fn run(command: &TasksCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start_quietly(environment)?;
    match command {
        TasksCommand::Test(args) => test::run(args, &session, out),
    }
}
